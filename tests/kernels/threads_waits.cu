// SPDX-License-Identifier: Apache-2.0
// threads_waits [WAITS]: eight threads wait, each on streams of its own, for work that takes a
// random time; WAITS in all, 100000 unless told. Each wait is one of four kinds, and each is
// checked by what the kernel wrote.
#include <thread>
#include <vector>

#include "check.h"

static const int threads = 8;

__global__ void work(unsigned *slot, unsigned value, int rounds)
{
    unsigned noise = value;
    for (int round = 0; round < rounds; round++)
        noise = noise * 1664525u + 1013904223u;
    *slot = noise == 1 ? value + 1 : value; // the loop must not be optimised away
}

static void one_thread(int id, int waits)
{
    Random random(100 + id);
    cudaStream_t stream[2];
    cudaEvent_t event;
    unsigned *slot, *pinned;
    CHECK(cudaMalloc(&slot, 256));
    CHECK(cudaMallocHost(&pinned, 256));
    CHECK(cudaStreamCreateWithFlags(&stream[0], cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&stream[1], cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, id % 2 ? cudaEventDisableTiming : 0));
    for (int i = 0; i < waits; i++) {
        unsigned value = (unsigned)(id << 24) + (unsigned)i + 2, got = 0;
        cudaStream_t s = stream[random.below(2)];
        work<<<1, 1, 0, s>>>(slot, value, (int)random.below(60));
        CHECK(cudaGetLastError());
        switch (random.below(4)) {
        case 0: // an event behind an asynchronous copy
            CHECK(cudaMemcpyAsync(pinned, slot, sizeof got, cudaMemcpyDeviceToHost, s));
            CHECK(cudaEventRecord(event, s));
            CHECK(cudaEventSynchronize(event));
            got = *pinned;
            break;
        case 1: // the stream
            CHECK(cudaMemcpyAsync(pinned, slot, sizeof got, cudaMemcpyDeviceToHost, s));
            CHECK(cudaStreamSynchronize(s));
            got = *pinned;
            break;
        case 2: // a copy to memory of the thread's stack waits by itself
            CHECK(cudaMemcpyAsync(&got, slot, sizeof got, cudaMemcpyDeviceToHost, s));
            CHECK(cudaStreamSynchronize(s));
            break;
        default: // an event waited for by the other stream
            CHECK(cudaEventRecord(event, s));
            s = s == stream[0] ? stream[1] : stream[0];
            CHECK(cudaStreamWaitEvent(s, event, 0));
            CHECK(cudaMemcpyAsync(pinned, slot, sizeof got, cudaMemcpyDeviceToHost, s));
            CHECK(cudaStreamSynchronize(s));
            got = *pinned;
        }
        if (got != value)
            fail("thread %d wait %d: %u, %u is right", id, i, got, value);
    }
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream[0]));
    CHECK(cudaStreamDestroy(stream[1]));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(slot));
}

int main(int argc, char **argv)
{
    const int waits = argc > 1 ? atoi(argv[1]) : 100000;
    if (waits < threads)
        fail("usage: %s [WAITS], at least %d", argv[0], threads);
    std::vector<std::thread> all;
    for (int id = 0; id < threads; id++)
        all.emplace_back(one_thread, id, waits / threads);
    for (std::thread &thread : all)
        thread.join();
    CHECK(cudaDeviceSynchronize());
    printf("%d threads, %d waits\n", threads, waits / threads * threads);
    return passed();
}
