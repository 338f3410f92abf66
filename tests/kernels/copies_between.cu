// SPDX-License-Identifier: Apache-2.0
// Copies between two devices in the legacy stream wait for both devices, and both wait for them; in
// another stream they wait for that stream only. A host function holds a stream, the rest shows who
// waits.
// semantics S122
#include <atomic>
#include <unistd.h>

#include "check.h"

static std::atomic<int> gate(0);

static void CUDART_CB hold(void *)
{
    while (gate.load() == 0)
        usleep(1000);
}

__global__ void store(int *to, int value)
{
    *to = value;
}

// On device 0 and on device 1.
static int *data[2];

using copy_function = void (*)(cudaStream_t stream);

static void copy_default(cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(data[0], data[1], sizeof(int), cudaMemcpyDefault, stream));
}

static void copy_device(cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(data[0], data[1], sizeof(int), cudaMemcpyDeviceToDevice, stream));
}

static void copy_rows(cudaStream_t stream)
{
    CHECK(cudaMemcpy2DAsync(data[0], 8, data[1], 8, sizeof(int), 1, cudaMemcpyDefault, stream));
}

static void copy_peer(cudaStream_t stream)
{
    CHECK(cudaMemcpyPeerAsync(data[0], 0, data[1], 1, sizeof(int), stream));
}

static void both_idle()
{
    for (int device = 1; device >= 0; device--) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaDeviceSynchronize());
    }
}

static void set(int first, int second)
{
    const int values[] = {first, second};
    for (int device = 1; device >= 0; device--) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaMemcpy(data[device], &values[device], sizeof(int), cudaMemcpyHostToDevice));
    }
    both_idle();
}

static void is(const char *name, int device, int right)
{
    int value;
    CHECK(cudaMemcpy(&value, data[device], sizeof value, cudaMemcpyDeviceToHost));
    if (value != right)
        fail("%s: device %d has %d, %d is right", name, device, value, right);
}

// Device 1 stores 7 in `theirs`, which is held; device 0 copies it in `ours`.
static void before(const char *name, copy_function copy, cudaStream_t ours, cudaStream_t theirs,
                   bool waits)
{
    cudaEvent_t event;
    set(1, 2);
    gate = 0;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaSetDevice(1));
    CHECK(cudaLaunchHostFunc(theirs, hold, nullptr));
    store<<<1, 1, 0, theirs>>>(data[1], 7);
    CHECK(cudaGetLastError());
    CHECK(cudaSetDevice(0));
    copy(ours);
    CHECK(cudaEventRecord(event, ours));
    if (waits) {
        usleep(20000);
        EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    } else {
        CHECK(cudaEventSynchronize(event)); // for ever, if it waits for what is held
    }
    gate = 1;
    both_idle();
    is(name, 0, waits ? 7 : 2);
    CHECK(cudaEventDestroy(event));
    printf("%s: %s\n", name, waits ? "waits" : "does not wait");
}

// Device 0 copies in `ours`, which is held; device 1 stores 7 in `theirs`.
static void after(const char *name, copy_function copy, cudaStream_t ours, cudaStream_t theirs,
                  bool waits)
{
    cudaEvent_t event;
    set(1, 2);
    gate = 0;
    CHECK(cudaSetDevice(0));
    CHECK(cudaLaunchHostFunc(ours, hold, nullptr));
    copy(ours);
    CHECK(cudaSetDevice(1));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    store<<<1, 1, 0, theirs>>>(data[1], 7);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(event, theirs));
    if (waits) {
        usleep(20000);
        EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    } else {
        CHECK(cudaEventSynchronize(event));
    }
    gate = 1;
    both_idle();
    is(name, 0, waits ? 2 : 7);
    is(name, 1, 7);
    CHECK(cudaEventDestroy(event));
    printf("%s: %s\n", name, waits ? "waits" : "does not wait");
}

int main()
{
    static const struct {
        const char *name;
        copy_function copy;
    } copies[] = {{"default", copy_default},
                  {"device to device", copy_device},
                  {"rows", copy_rows},
                  {"peer", copy_peer}};
    cudaStream_t blocking[2], own;
    int devices;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        fail("this program needs two devices, there is %d", devices);
    for (int device = 1; device >= 0; device--) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaMalloc(&data[device], sizeof(int)));
        CHECK(cudaStreamCreate(&blocking[device]));
        store<<<1, 1>>>(data[device], 0);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    const cudaStream_t legacy = 0;
    for (const auto &each : copies) {
        printf("%s\n", each.name);
        before("behind a stream of the other", each.copy, legacy, blocking[1], true);
        before("behind the other's legacy stream", each.copy, legacy, legacy, true);
        before("behind a non-blocking one", each.copy, legacy, own, false);
        before("in a stream, behind the other's", each.copy, blocking[0], blocking[1], false);
        after("a stream of the other behind it", each.copy, legacy, blocking[1], true);
        after("the other's legacy stream behind it", each.copy, legacy, legacy, true);
        after("a non-blocking one behind it", each.copy, legacy, own, false);
        after("the other's behind one in a stream", each.copy, blocking[0], blocking[1], false);
    }
    CHECK(cudaStreamDestroy(own));
    for (int device = 0; device < 2; device++) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamDestroy(blocking[device]));
        CHECK(cudaFree(data[device]));
    }
    return passed();
}
