// SPDX-License-Identifier: Apache-2.0
// Graphs of random shape compute what their nodes compute one after the other, launch after launch,
// also when launches follow each other in several streams.
#include "check.h"

#include <vector>

enum { NODES = 200, LAUNCHES = 1000 };

// Each node has a cell: a sum of those before it, and of its own from launch to launch.
__global__ void mix(unsigned *cells, int to, int from, int and_from, unsigned salt)
{
    unsigned other = (from >= 0 ? cells[from] : 1) * 31 + (and_from >= 0 ? cells[and_from] : 7);
    cells[to] = cells[to] * 5 + other + salt;
}

struct Node {
    int from, and_from;
    unsigned salt;
};

static unsigned cell(const std::vector<unsigned> &cells, int at, unsigned otherwise)
{
    return at >= 0 ? cells[at] : otherwise;
}

static std::vector<Node> shape(Random &random, int most)
{
    std::vector<Node> nodes(NODES);
    for (int i = 0; i < NODES; i++) {
        int reach = i < most ? i : most; // wide where it reaches far back
        nodes[i].from = reach > 0 ? i - 1 - (int)(random.next() % reach) : -1;
        nodes[i].and_from = random.next() % 3 == 0 && i > 0 ? (int)(random.next() % i) : -1;
        nodes[i].salt = random.next();
    }
    return nodes;
}

static cudaGraphExec_t build(const std::vector<Node> &nodes, unsigned *cells)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    std::vector<cudaGraphNode_t> made(NODES);
    CHECK(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < NODES; i++) {
        Node node = nodes[i];
        void *values[] = {&cells, &i, &node.from, &node.and_from, &node.salt};
        cudaKernelNodeParams params = {};
        cudaGraphNode_t after[2];
        size_t count = 0;
        if (node.from >= 0)
            after[count++] = made[node.from];
        if (node.and_from >= 0 && node.and_from != node.from)
            after[count++] = made[node.and_from];
        params.func = (void *)mix;
        params.gridDim = dim3(1);
        params.blockDim = dim3(1);
        params.kernelParams = values;
        CHECK(cudaGraphAddKernelNode(&made[i], graph, after, count, &params));
    }
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void run(int most, int launches)
{
    Random random((uint64_t)most);
    std::vector<Node> nodes = shape(random, most);
    std::vector<unsigned> right(NODES, 0), got(NODES);
    unsigned *cells;
    cudaStream_t streams[3];
    CHECK(cudaMalloc(&cells, NODES * sizeof *cells));
    CHECK(cudaMemset(cells, 0, NODES * sizeof *cells));
    CHECK(cudaDeviceSynchronize());
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraphExec_t exec = build(nodes, cells);
    for (int i = 0; i < launches; i++)
        CHECK(cudaGraphLaunch(exec, streams[i % 3]));
    for (int round = 0; round < launches; round++) {
        for (int i = 0; i < NODES; i++) {
            const Node &node = nodes[i];
            unsigned other = cell(right, node.from, 1) * 31 + cell(right, node.and_from, 7);
            right[i] = right[i] * 5 + other + node.salt;
        }
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(got.data(), cells, NODES * sizeof *cells, cudaMemcpyDeviceToHost));
    for (int i = 0; i < NODES; i++) {
        if (got[i] != right[i])
            fail("reaching back %d: cell %d is %u, %u is right", most, i, got[i], right[i]);
    }
    printf("reaching back %d: %d launches\n", most, launches);
    CHECK(cudaGraphExecDestroy(exec));
    for (cudaStream_t stream : streams)
        CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(cells));
}

int main(int argc, char **argv)
{
    int launches = argc > 1 ? atoi(argv[1]) : LAUNCHES;
    run(1, launches / 10);
    run(20, launches / 10);
    run(NODES, launches);
    return passed();
}
