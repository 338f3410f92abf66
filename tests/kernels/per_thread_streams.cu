// SPDX-License-Identifier: Apache-2.0
// Built with --default-stream per-thread: the default stream of each thread is its own, waits for
// the legacy stream and for no other thread, and ends with the thread when its work is done.
// semantics S16
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "this program is about --default-stream per-thread"
#endif

static const int threads = 8, n = 1 << 12;
static std::atomic<int> gate(0), called(0);

static void CUDART_CB hold(void *)
{
    while (gate.load() == 0)
        usleep(1000);
}

static void CUDART_CB count(void *)
{
    ++called;
}

__global__ void fill(int *data, int value)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// While the main thread's default stream is held, the others compute, copy and wait.
static void one_thread(int id)
{
    int *data;
    std::vector<int> host(n, -1);
    CHECK(cudaMalloc(&data, n * sizeof(int)));
    for (int round = 0; round < 20; round++) {
        fill<<<n / 256, 256>>>(data, id * 100 + round);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
        for (int value : host)
            if (value != id * 100 + round)
                fail("thread %d round %d reads %d", id, round, value);
    }
    CHECK(cudaMemset(data, 0x11, n * sizeof(int)));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaStreamQuery(cudaStreamPerThread));
    // Not freed here: cudaFree waits for all of the device's work, and there is some that is held.
}

int main()
{
    CHECK(cudaFree(nullptr));
    CHECK(cudaLaunchHostFunc(0, hold, nullptr));
    std::vector<std::thread> all;
    for (int id = 0; id < threads; id++)
        all.emplace_back(one_thread, id);
    for (std::thread &thread : all)
        thread.join();
    EXPECT_ERROR(cudaStreamQuery(0), cudaErrorNotReady);
    EXPECT_ERROR(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
    // The legacy stream waits for those of all threads.
    CHECK(cudaLaunchHostFunc(cudaStreamLegacy, count, nullptr));
    usleep(20000);
    if (called != 0)
        fail("the legacy stream has not waited");
    gate = 1;
    CHECK(cudaStreamSynchronize(cudaStreamLegacy));
    if (called != 1)
        fail("the legacy stream has not called");
    // A thread ends with work in its stream: the work is done all the same.
    gate = 0;
    std::thread([] {
        CHECK(cudaLaunchHostFunc(0, hold, nullptr));
        CHECK(cudaLaunchHostFunc(0, count, nullptr));
    }).join();
    gate = 1;
    CHECK(cudaDeviceSynchronize());
    if (called != 2)
        fail("work of a thread that has ended was done %d times", called.load() - 1);
    return passed();
}
