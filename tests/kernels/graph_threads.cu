// SPDX-License-Identifier: Apache-2.0
// One thread makes graphs executable, launches them and gives them up while others wait for the
// context, also to free memory: neither is in the other's way. semantics S85
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

static const int nodes = 100, rounds = 40;

__global__ void count(unsigned *counter)
{
    atomicAdd(counter, 1);
}

static void wait_often(const std::atomic<bool> *done, bool context)
{
    while (!*done) {
        void *memory;
        CHECK(cudaMallocManaged(&memory, 4096));
        if (context)
            CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(memory)); // waits for the context
    }
}

int main()
{
    unsigned *counter, counted;
    cudaStream_t stream;
    cudaGraph_t graph;
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; i++) {
        count<<<1, 1, 0, stream>>>(counter);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaDeviceSynchronize());

    std::atomic<bool> done(false);
    std::vector<std::thread> waiting;
    for (bool context : {false, true})
        waiting.emplace_back(wait_often, &done, context);
    for (int round = 0; round < rounds; round++) {
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaGraphExecDestroy(exec));
    }
    CHECK(cudaStreamSynchronize(stream));
    done = true;
    for (std::thread &thread : waiting)
        thread.join();
    CHECK(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
    if (counted != nodes * rounds)
        fail("%u kernels have run, %d is right", counted, nodes * rounds);
    return passed();
}
