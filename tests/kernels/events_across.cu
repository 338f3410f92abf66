// SPDX-License-Identifier: Apache-2.0
// Events between streams and between two devices: what a wait means when the event is recorded
// again, who may record, ask and wait for what where, and several threads that ask at once.
// semantics S17, S18
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

static std::atomic<int> gate(0), gate_2(0);

static void CUDART_CB hold(void *at)
{
    while (((std::atomic<int> *)at)->load() == 0)
        usleep(1000);
}

__global__ void store(int *to, int value)
{
    *to = value;
}

// A wait means the recording that was the last one when the wait was submitted.
static void recorded_again()
{
    cudaStream_t a, b, c;
    cudaEvent_t event;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaEventQuery(event)); // never recorded: nothing to wait for
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaStreamSynchronize(b));

    gate = gate_2 = 0;
    CHECK(cudaLaunchHostFunc(a, hold, &gate));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaLaunchHostFunc(a, hold, &gate_2));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(c, event, 0));
    EXPECT_ERROR(cudaStreamQuery(b), cudaErrorNotReady);
    EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    gate = 1;
    CHECK(cudaStreamSynchronize(b)); // for ever, if the wait had moved to the second recording
    EXPECT_ERROR(cudaStreamQuery(c), cudaErrorNotReady);
    EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    gate_2 = 1;
    CHECK(cudaStreamSynchronize(c));
    CHECK(cudaEventQuery(event));

    // Destroyed while a stream waits for it: the wait stays.
    gate = 0;
    CHECK(cudaLaunchHostFunc(a, hold, &gate));
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    CHECK(cudaEventDestroy(event));
    usleep(20000);
    EXPECT_ERROR(cudaStreamQuery(b), cudaErrorNotReady);
    gate = 1;
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(c));
}

// Threads ask and wait while another one records again and again.
static void asked_by_many()
{
    const int threads = 6, rounds = 200;
    cudaStream_t stream;
    cudaEvent_t event;
    int *data;
    std::atomic<bool> ended(false);
    std::atomic<int> asking(0), ready(0), not_ready(0);
    CHECK(cudaMalloc(&data, sizeof *data));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    std::vector<std::thread> all;
    for (int id = 0; id < threads; id++)
        all.emplace_back([&, id] {
            ++asking;
            while (!ended) {
                cudaError_t error = id % 2 ? cudaEventQuery(event) : cudaEventSynchronize(event);
                if (error != cudaSuccess && !(id % 2 && error == cudaErrorNotReady))
                    fail("thread %d: %s", id, cudaGetErrorName(error));
                ++(error == cudaSuccess ? ready : not_ready);
            }
        });
    while (asking != threads)
        std::this_thread::yield();
    for (int round = 0; round < rounds; round++) {
        store<<<1, 1, 0, stream>>>(data, round);
        CHECK(cudaEventRecord(event, stream));
        if (round % 16 == 0)
            CHECK(cudaEventSynchronize(event));
        if (round % 16 == 0)
            CHECK(cudaEventQuery(event)); // nobody else records
    }
    CHECK(cudaStreamSynchronize(stream));
    ended = true;
    for (std::thread &thread : all)
        thread.join();
    CHECK(cudaEventQuery(event));
    printf("%d times ready, %d times not\n", ready.load(), not_ready.load());
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
}

// Device 1 waits for device 0 and the other way round; who may do what is the programming guide's
// "Multi-Device System: Stream and Event Behavior".
static void two_devices()
{
    cudaStream_t stream[2];
    cudaEvent_t event[2], timed[2];
    int *data[2], value = 0;
    float milliseconds;
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc(&data[d], sizeof(int)));
        CHECK(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&event[d], cudaEventDisableTiming));
        CHECK(cudaEventCreate(&timed[d]));
    }
    for (int d = 0; d < 2; d++) {
        gate = 0;
        CHECK(cudaSetDevice(d));
        CHECK(cudaLaunchHostFunc(stream[d], hold, &gate));
        store<<<1, 1, 0, stream[d]>>>(data[d], 7 + d);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(event[d], stream[d]));
        CHECK(cudaStreamWaitEvent(stream[!d], event[d], 0)); // the other device is not current
        CHECK(cudaSetDevice(!d));
        CHECK(cudaMemcpyPeerAsync(data[!d], !d, data[d], d, sizeof(int), stream[!d]));
        usleep(20000);
        EXPECT_ERROR(cudaStreamQuery(stream[!d]), cudaErrorNotReady);
        EXPECT_ERROR(cudaEventQuery(event[d]), cudaErrorNotReady);
        gate = 1;
        CHECK(cudaStreamSynchronize(stream[!d]));
        CHECK(cudaEventQuery(event[d]));
        CHECK(cudaMemcpy(&value, data[!d], sizeof value, cudaMemcpyDeviceToHost));
        if (value != 7 + d)
            fail("device %d has %d of device %d", !d, value, d);
    }
    CHECK(cudaSetDevice(0));
    EXPECT_ERROR(cudaEventRecord(event[0], stream[1]), cudaErrorInvalidResourceHandle);
    EXPECT_ERROR(cudaEventRecord(event[1], stream[0]), cudaErrorInvalidResourceHandle);
    store<<<1, 1, 0, stream[1]>>>(data[1], 0);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    for (int d = 0; d < 2; d++)
        CHECK(cudaEventRecord(timed[d], stream[d]));
    for (int d = 0; d < 2; d++)
        CHECK(cudaEventSynchronize(timed[d]));
    EXPECT_ERROR(cudaEventElapsedTime(&milliseconds, timed[0], timed[1]),
                 cudaErrorInvalidResourceHandle);
    (void)cudaGetLastError();
    // A copy may be submitted to a stream of a device that is not current.
    CHECK(cudaMemcpyAsync(&value, data[1], sizeof value, cudaMemcpyDeviceToHost, stream[1]));
    CHECK(cudaStreamSynchronize(stream[1]));
    for (int d = 0; d < 2; d++) {
        CHECK(cudaEventDestroy(event[d]));
        CHECK(cudaEventDestroy(timed[d]));
        CHECK(cudaStreamDestroy(stream[d]));
        CHECK(cudaFree(data[d]));
    }
}

int main()
{
    recorded_again();
    asked_by_many();
    two_devices();
    return passed();
}
