// SPDX-License-Identifier: Apache-2.0
/* The messages for a graph of a thousand kernels: launched ten times, changed in one node, launched
 * once more; and for one that allocates. On stderr stand the marks between which
 * tests/e2e/graphs.py counts. */
#include <vector>

#include "check.h"

constexpr int NODES = 1000, LAUNCHES = 10;

__global__ void add(unsigned long long *to, unsigned what)
{
    *to += what;
}

static void mark(const char *what)
{
    fprintf(stderr, "mark %s\n", what);
}

int main()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned long long *sum, value;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    add<<<1, 1, 0, stream>>>(sum, 0); /* the module is loaded by the first use of its kernel */
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    mark("capture");
    for (unsigned i = 0; i < NODES; i++) {
        add<<<1, 1, 0, stream>>>(sum, i);
    }
    mark("captured");
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    mark("launch");
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    mark("launched");
    size_t count = NODES;
    std::vector<cudaGraphNode_t> nodes(NODES);
    unsigned more = 1000000 + 500;
    void *values[] = {&sum, &more};
    cudaKernelNodeParams params = {};
    params.func = (void *)add;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = values;
    CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
    mark("change");
    CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[500], &params));
    CHECK(cudaGraphLaunch(exec, stream));
    mark("changed");
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&value, sum, sizeof value, cudaMemcpyDeviceToHost));
    unsigned long long expected = (LAUNCHES + 1ull) * NODES * (NODES - 1) / 2 + 1000000;
    if (value != expected) {
        fail("%llu, not %llu", value, expected);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    unsigned long long *room;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&room, sizeof *room, stream));
    CHECK(cudaMemsetAsync(room, 0, sizeof *room, stream));
    add<<<1, 1, 0, stream>>>(room, 5);
    CHECK(cudaMemcpyAsync(sum, room, sizeof *sum, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(room, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    mark("again");
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    mark("done");
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&value, sum, sizeof value, cudaMemcpyDeviceToHost));
    if (value != 5) {
        fail("%llu, not 5", value);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return passed();
}
