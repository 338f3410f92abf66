// SPDX-License-Identifier: Apache-2.0
// Says what its work took, by events. Everything is submitted behind a gate, work that takes long,
// so that what is measured begins when the gate ends, however slowly this process runs.
//
// takes_time kernels|adds|graphs|busy: `kernels` gates with a kernel (where kernels take a
// configured time), `adds` with copies, and measures a kernel that adds vectors; `graphs` is
// `kernels` of graphs that do the same; `busy` says when ten kernels that fill the device began and
// when they were done.
#include <time.h>

#include "check.h"

static const size_t bytes = 16 << 20;
static const int streams = 2;

static float *device_memory[streams], *pinned[streams];
static cudaStream_t stream[streams];
static cudaEvent_t gate, begin, end[streams];

__global__ void spin(float *out, int rounds)
{
    float value = threadIdx.x;
    for (int round = 0; round < rounds; round++)
        value = value * 1.5f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void add(const float *a, float *b, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        b[i] += a[i];
}

static void up(int i)
{
    CHECK(cudaMemcpyAsync(device_memory[i], pinned[i], bytes, cudaMemcpyHostToDevice, stream[i]));
}
static void down(int i)
{
    CHECK(cudaMemcpyAsync(pinned[i], device_memory[i], bytes, cudaMemcpyDeviceToHost, stream[i]));
}
static void small(int i)
{
    spin<<<2, 128, 0, stream[i]>>>(device_memory[i], 10);
}
static void large(int i)
{
    spin<<<4096, 128, 0, stream[i]>>>(device_memory[i], 10);
}
static void vectors(int i)
{
    add<<<bytes / 4 / 256, 256, 0, stream[i]>>>(device_memory[1 - i], device_memory[i], bytes / 4);
}

static void close_gate(bool kernels)
{
    for (int i = 0; kernels ? i < 1 : i < 8; i++)
        kernels ? large(0) : up(0);
    CHECK(cudaEventRecord(gate, stream[0]));
    CHECK(cudaStreamWaitEvent(stream[1], gate, 0));
    CHECK(cudaEventRecord(begin, stream[0]));
}

// Milliseconds from the gate's end until all of it is done.
static void measure(const char *name, bool kernels, void (*first)(int), void (*second)(int))
{
    close_gate(kernels);
    first(0);
    CHECK(cudaEventRecord(end[0], stream[0]));
    if (second)
        second(1);
    CHECK(cudaEventRecord(end[1], stream[1]));
    CHECK(cudaDeviceSynchronize());
    float took[streams];
    for (int i = 0; i < streams; i++)
        CHECK(cudaEventElapsedTime(&took[i], begin, end[i]));
    printf("%s %.4f\n", name, took[0] > took[1] ? took[0] : took[1]);
}

// Measures a graph: two nodes beside each other (`behind`: one behind the other), launched so many
// times.
static void measure_graph(const char *name, void (*first)(int), void (*second)(int), bool behind,
                          int launches)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float took;
    CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(gate, stream[0]));
    CHECK(cudaStreamWaitEvent(stream[1], gate, 0));
    first(0);
    second(behind ? 0 : 1);
    CHECK(cudaEventRecord(end[1], stream[1]));
    CHECK(cudaStreamWaitEvent(stream[0], end[1], 0));
    CHECK(cudaStreamEndCapture(stream[0], &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    close_gate(true);
    for (int i = 0; i < launches; i++)
        CHECK(cudaGraphLaunch(exec, stream[0]));
    CHECK(cudaEventRecord(end[0], stream[0]));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventElapsedTime(&took, begin, end[0]));
    printf("%s %.4f\n", name, took);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

// Copies from device memory to device memory: a server does it by itself, too.
static void within(int i)
{
    CHECK(cudaMemcpyAsync(device_memory[i], device_memory[1 - i], bytes, cudaMemcpyDeviceToDevice,
                          stream[i]));
}

static int graphs()
{
    measure_graph("small_small", small, small, false, 1);
    measure_graph("small_then_small", small, small, true, 1);
    measure_graph("large_large", large, large, false, 1);
    measure_graph("large_up", large, up, false, 1);
    measure_graph("small_then_up", small, up, true, 1);
    measure_graph("small_then_within", small, within, true, 1);
    measure_graph("three_times", small, small, false, 3);
    return passed();
}

static double now_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int busy()
{
    printf("begin %.3f\n", now_ms());
    for (int i = 0; i < 10; i++)
        large(0);
    CHECK(cudaDeviceSynchronize());
    printf("end %.3f\n", now_ms());
    return passed();
}

int main(int count, char **arguments)
{
    bool kernels = count > 1 && strcmp(arguments[1], "kernels") == 0;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    printf("name %s\n", properties.name);
    for (int i = 0; i < streams; i++) {
        CHECK(cudaMalloc(&device_memory[i], bytes));
        CHECK(cudaMallocHost(&pinned[i], bytes));
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&end[i]));
    }
    cudaFuncAttributes loaded; // now, and not while something is measured
    CHECK(cudaFuncGetAttributes(&loaded, spin));
    CHECK(cudaFuncGetAttributes(&loaded, add));
    CHECK(cudaEventCreate(&gate));
    CHECK(cudaEventCreate(&begin));
    if (count > 1 && strcmp(arguments[1], "busy") == 0)
        return busy();
    if (count > 1 && strcmp(arguments[1], "graphs") == 0)
        return graphs();
    measure("up", kernels, up, nullptr);
    measure("up_down", kernels, up, down);
    if (kernels) {
        measure("small", kernels, small, nullptr);
        measure("small_small", kernels, small, small);
        measure("large_large", kernels, large, large);
        measure("large_up", kernels, large, up);
    } else {
        measure("add", kernels, vectors, nullptr);
    }
    return passed();
}
