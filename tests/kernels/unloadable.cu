// SPDX-License-Identifier: Apache-2.0
// Kernels and variables of a module that no memory is left to load: looking a kernel up is no
// error, and every call that needs it says 2, out of memory, not that there were no such kernel.
// When memory is free again, they work. semantics S34
#include <functional>
#include <vector>

#include "check_driver.h"

__device__ int counts[1024];

__global__ void count(int by)
{
    atomicAdd(&counts[0], by);
}

static int by = 1;
static void *values[] = {&by};

static void use_up(std::vector<void *> &held)
{
    for (size_t bytes = 1 << 30; bytes >= 256;) {
        void *memory;
        if (cudaMalloc(&memory, bytes) == cudaSuccess)
            held.push_back(memory);
        else
            bytes /= 2;
    }
    (void)cudaGetLastError();
}

static CUgraph new_graph()
{
    CUgraph graph;
    CHECK_DRIVER(cuGraphCreate(&graph, 0));
    return graph;
}

static CUresult graph_node(CUfunction function, CUkernel kernel)
{
    CUgraphNode node;
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = values;
    params.func = function;
    params.kern = kernel;
    return cuGraphAddKernelNode(&node, new_graph(), nullptr, 0, &params);
}

struct Use {
    const char *name;
    std::function<int()> call;
};

static CUlaunchConfig one_thread()
{
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    return config;
}

// Through the driver API, where a kernel stands for its function in the context.
static std::vector<Use> driver_uses(CUkernel kernel, CUlibrary library)
{
    static int number;
    static int numbers[2];
    static size_t size, other;
    static CUlaunchConfig config = one_thread();
    const CUfunction function = (CUfunction)kernel;
    return {
        {"cuKernelGetFunction",
         [=] {
             CUfunction found;
             return cuKernelGetFunction(&found, kernel);
         }},
        {"cuFuncGetModule",
         [=] {
             CUmodule module;
             return cuFuncGetModule(&module, function);
         }},
        {"cuFuncGetName",
         [=] {
             const char *name;
             return cuFuncGetName(&name, function);
         }},
        {"cuFuncGetAttribute",
         [=] { return cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, function); }},
        {"cuFuncSetAttribute",
         [=] {
             return cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       0);
         }},
        {"cuFuncSetCacheConfig",
         [=] { return cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1); }},
        {"cuFuncGetParamInfo", [=] { return cuFuncGetParamInfo(function, 0, &size, &other); }},
        {"cuFuncLoad", [=] { return cuFuncLoad(function); }},
        {"cuOccupancyMaxActiveBlocksPerMultiprocessor",
         [=] { return cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, function, 32, 0); }},
        {"cuOccupancyMaxPotentialBlockSize",
         [=] {
             return cuOccupancyMaxPotentialBlockSize(numbers, numbers + 1, function, nullptr, 0, 0);
         }},
        {"cuOccupancyAvailableDynamicSMemPerBlock",
         [=] { return cuOccupancyAvailableDynamicSMemPerBlock(&size, function, 1, 32); }},
        {"cuLaunchKernel",
         [=] { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr); }},
        {"cuLaunchKernelEx", [=] { return cuLaunchKernelEx(&config, function, values, nullptr); }},
        {"cuLaunchCooperativeKernel",
         [=] { return cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, values); }},
        {"cuLibraryGetModule",
         [=] {
             CUmodule module;
             return cuLibraryGetModule(&module, library);
         }},
        {"cuLibraryGetGlobal",
         [=] {
             CUdeviceptr at;
             return cuLibraryGetGlobal(&at, &size, library, "counts");
         }},
        {"a graph's node of the function", [=] { return graph_node(function, nullptr); }},
        {"a graph's node of the kernel", [=] { return graph_node(nullptr, kernel); }},
    };
}

static cudaError_t runtime_node()
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaKernelNodeParams params = {};
    params.func = (void *)count;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = values;
    CHECK(cudaGraphCreate(&graph, 0));
    return cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params);
}

static cudaError_t captured()
{
    cudaStream_t stream;
    cudaGraph_t graph;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    count<<<1, 1, 0, stream>>>(1);
    cudaError_t error = cudaGetLastError();
    (void)cudaStreamEndCapture(stream, &graph);
    CHECK(cudaStreamDestroy(stream));
    return error;
}

// Through the runtime, which finds the kernel by its function of the host.
static std::vector<Use> runtime_uses()
{
    static void *address;
    static size_t size;
    static int number;
    return {
        {"a launch",
         [] {
             count<<<1, 1>>>(1);
             return cudaGetLastError();
         }},
        {"a captured launch", captured},
        {"cudaGraphAddKernelNode", runtime_node},
        {"cudaFuncGetAttributes",
         [] {
             cudaFuncAttributes attributes;
             return cudaFuncGetAttributes(&attributes, count);
         }},
        {"cudaFuncSetAttribute",
         [] {
             return cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, 0);
         }},
        {"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         [] { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, count, 32, 0); }},
        {"cudaGetSymbolAddress", [] { return cudaGetSymbolAddress(&address, counts); }},
        {"cudaGetSymbolSize", [] { return cudaGetSymbolSize(&size, counts); }},
        {"cudaMemcpyToSymbol", [] { return cudaMemcpyToSymbol(counts, &number, sizeof number); }},
    };
}

static void expect(const std::vector<Use> &uses, int error)
{
    for (const Use &use : uses) {
        int got = use.call();
        if (got != error)
            fail("%s: error %d, %d is due", use.name, got, error);
        (void)cudaGetLastError();
    }
}

int main()
{
    std::vector<void *> held;
    cudaKernel_t kernel;
    CUlibrary library;
    CHECK(cudaFree(nullptr));
    use_up(held);
    expect(runtime_uses(), cudaErrorMemoryAllocation);
    CHECK(cudaGetKernel(&kernel, (void *)count));
    CHECK_DRIVER(cuKernelGetLibrary(&library, (CUkernel)kernel));
    const std::vector<Use> uses = driver_uses((CUkernel)kernel, library);
    expect(uses, CUDA_ERROR_OUT_OF_MEMORY);
    for (void *memory : held)
        CHECK(cudaFree(memory));
    expect(runtime_uses(), cudaSuccess);
    expect(uses, CUDA_SUCCESS);
    CHECK(cudaDeviceSynchronize());
    return passed();
}
