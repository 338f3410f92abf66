// SPDX-License-Identifier: Apache-2.0
// What waits for what by itself: the legacy default stream, blocking and non-blocking streams, and
// the streams that each thread has. A host function holds one of them, the rest shows who waits.
// semantics S15, S16
#include <atomic>
#include <thread>
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

static int *data;

// `before` is held; is work that comes later in `after` held as well?
static void expect(const char *name, cudaStream_t before, cudaStream_t after, bool waits)
{
    int value = 0;
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMemset(data, 0, sizeof *data));
    CHECK(cudaDeviceSynchronize());
    gate = 0;
    CHECK(cudaLaunchHostFunc(before, hold, nullptr));
    store<<<1, 1, 0, before>>>(data, 1);
    CHECK(cudaGetLastError());
    store<<<1, 1, 0, after>>>(data, 2);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(event, after));
    if (!waits) {
        CHECK(cudaEventSynchronize(event)); // for ever, if it waits for what is held
        CHECK(cudaStreamQuery(after));
        EXPECT_ERROR(cudaStreamQuery(before), cudaErrorNotReady);
    } else {
        usleep(20000);
        EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
        EXPECT_ERROR(cudaStreamQuery(after), cudaErrorNotReady);
    }
    gate = 1;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventQuery(event));
    CHECK(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
    if (value != (waits ? 2 : 1))
        fail("%s: the last one to store was number %d", name, value);
    CHECK(cudaEventDestroy(event));
    printf("%s: %s\n", name, waits ? "waits" : "does not wait");
}

// A stream of another thread is another one; the legacy stream is the same.
static void expect_of_another_thread(const char *name, cudaStream_t before, cudaStream_t after,
                                     bool waits)
{
    gate = 0;
    std::thread([=] { CHECK(cudaLaunchHostFunc(before, hold, nullptr)); }).join();
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    store<<<1, 1, 0, after>>>(data, 2);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(event, after));
    if (waits) {
        usleep(20000);
        EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    } else {
        CHECK(cudaEventSynchronize(event));
    }
    gate = 1;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(event));
    printf("%s: %s\n", name, waits ? "waits" : "does not wait");
}

int main()
{
    cudaStream_t blocking, blocking_2, free_stream, free_2, none = 0;
    CHECK(cudaMalloc(&data, sizeof *data));
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaStreamCreate(&blocking_2));
    CHECK(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&free_2, cudaStreamNonBlocking));
    const cudaStream_t legacy = cudaStreamLegacy, own = cudaStreamPerThread;

    expect("legacy after blocking", blocking, legacy, true);
    expect("blocking after legacy", legacy, blocking, true);
    expect("legacy after non-blocking", free_stream, legacy, false);
    expect("non-blocking after legacy", legacy, free_stream, false);
    expect("blocking after blocking", blocking, blocking_2, false);
    expect("non-blocking after blocking", blocking, free_stream, false);
    expect("non-blocking after non-blocking", free_stream, free_2, false);
    expect("own after legacy", legacy, own, true);
    expect("legacy after own", own, legacy, true);
    expect("own after blocking", blocking, own, false);
    expect("non-blocking after own", own, free_stream, false);
    expect("legacy by another name", legacy, none, true);

    expect_of_another_thread("own after another thread's own", own, own, false);
    expect_of_another_thread("legacy after another thread's legacy", legacy, legacy, true);
    expect_of_another_thread("legacy after another thread's own", own, legacy, true);
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaStreamDestroy(blocking_2));
    CHECK(cudaStreamDestroy(free_stream));
    CHECK(cudaStreamDestroy(free_2));
    CHECK(cudaFree(data));
    return passed();
}
