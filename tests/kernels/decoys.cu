// SPDX-License-Identifier: Apache-2.0
// Kernels that fill the GPU, and among them launches that do next to nothing: who counts launches
// instead of time finds the GPU empty. For GPUs that only keep time (execute = no), where a kernel
// takes as long as its threads are many.
//
// decoys stream|streams|graph|ahead EMPTY BLOCKS ROUNDS [PAUSE_US]
//   EMPTY launches of one warp before each kernel of so many blocks, so often; 0 rounds: for ever.
//   It waits for each kernel, and then pauses.
//   streams: the empty ones are in another stream; graph: the kernel is in a graph; ahead: it waits
//   for the kernel before, so that it always has one to do.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "check.h"

__global__ void work(float *out)
{
    float value = threadIdx.x;
#pragma unroll
    for (int round = 0; round < 64; round++)
        value = value * 1.5f + 0.5f;
    *out = value;
}

__global__ void nothing()
{
}

int main(int count, char **arguments)
{
    if (count != 5 && count != 6)
        fail("decoys stream|streams|graph|ahead EMPTY BLOCKS ROUNDS [PAUSE_US]");
    const char *way = arguments[1];
    int empty = atoi(arguments[2]), blocks = atoi(arguments[3]), rounds = atoi(arguments[4]);
    unsigned pause_us = count == 6 ? (unsigned)atoi(arguments[5]) : 0;
    cudaStream_t stream, other;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t done[2];
    float *out;
    for (cudaEvent_t &event : done)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    work<<<blocks, 256, 0, stream>>>(out);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    printf("begins\n");
    fflush(stdout);
    for (int round = 0; rounds == 0 || round < rounds; round++) {
        for (int i = 0; i < empty; i++)
            nothing<<<1, 32, 0, strcmp(way, "streams") == 0 ? other : stream>>>();
        if (strcmp(way, "graph") == 0)
            CHECK(cudaGraphLaunch(exec, stream));
        else
            work<<<blocks, 256, 0, stream>>>(out);
        CHECK(cudaEventRecord(done[round % 2], stream));
        if (strcmp(way, "ahead") == 0)
            CHECK(cudaEventSynchronize(done[(round + 1) % 2]));
        else
            CHECK(cudaDeviceSynchronize());
        if (pause_us != 0)
            usleep(pause_us);
    }
    passed();
    return 0;
}
