// SPDX-License-Identifier: Apache-2.0
// Calls with arguments that are unusual and right, or wrong in a way of their own: nothing to do,
// no room for the answer, nothing asked for, what has gone. The same locally and through a server.
// semantics S137
#include "check_driver.h"

static const char ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                          ".visible .entry nothing()\n{\n    ret;\n}\n"
                          ".visible .entry one(.param .u32 a)\n{\n    ret;\n}\n"
                          ".visible .global .align 4 .b32 variable;\n";

static void copies_of_nothing(CUdeviceptr device)
{
    char host[16];
    CHECK_DRIVER(cuMemcpyHtoD(device, host, 0));
    CHECK_DRIVER(cuMemcpyHtoD(0, nullptr, 0));
    CHECK_DRIVER(cuMemcpyDtoH(nullptr, 0, 0));
    CHECK_DRIVER(cuMemcpyDtoD(0, 0, 0));
    CHECK_DRIVER(cuMemcpy(0, 0, 0));
    CHECK_DRIVER(cuMemcpyAsync(0, 0, 0, nullptr));
    CHECK_DRIVER(cuMemcpyHtoDAsync(0, nullptr, 0, nullptr));
    CHECK_DRIVER(cuMemcpyDtoHAsync(nullptr, 0, 0, nullptr));
    CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
    CHECK(cudaMemcpy2D((void *)device, 16, host, 16, 0, 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D((void *)device, 16, host, 16, 4, 0, cudaMemcpyHostToDevice));
}

// An address must fit the element, also where nothing is filled.
static void fills_of_nothing(CUdeviceptr device)
{
    CHECK_DRIVER(cuMemsetD8(device + 1, 0, 0));
    CHECK_DRIVER(cuMemsetD32(0, 0, 0));
    CHECK_DRIVER(cuMemsetD2D8(device, 0, 0, 0, 0));
    EXPECT_DRIVER(cuMemsetD16(device + 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemsetD32(device + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemsetD2D32(device + 2, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

static void launches(CUmodule module)
{
    CUfunction nothing, one;
    int number = 5;
    size_t none = 0;
    void *empty[] = {CU_LAUNCH_PARAM_END};
    void *sized[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &none, CU_LAUNCH_PARAM_END};
    void *values[] = {&number};
    CHECK_DRIVER(cuModuleGetFunction(&nothing, module, "nothing"));
    CHECK_DRIVER(cuModuleGetFunction(&one, module, "one"));
    CHECK_DRIVER(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    CHECK_DRIVER(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr));
    CHECK_DRIVER(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, empty));
    CHECK_DRIVER(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, sized));
    EXPECT_DRIVER(cuLaunchKernel(one, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, empty),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLaunchKernel(one, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, sized),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, values, empty),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuCtxSynchronize());
}

// One of the two answers may be left out, not both.
static void variables(CUmodule module)
{
    CUlibrary library;
    CUdeviceptr address;
    size_t bytes;
    CHECK_DRIVER(cuModuleGetGlobal(&address, nullptr, module, "variable"));
    CHECK_DRIVER(cuModuleGetGlobal(nullptr, &bytes, module, "variable"));
    EXPECT_DRIVER(cuModuleGetGlobal(nullptr, nullptr, module, "variable"),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(
        cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK_DRIVER(cuLibraryGetGlobal(&address, nullptr, library, "variable"));
    CHECK_DRIVER(cuLibraryGetGlobal(nullptr, &bytes, library, "variable"));
    EXPECT_DRIVER(cuLibraryGetGlobal(nullptr, nullptr, library, "variable"),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLibraryGetManaged(nullptr, nullptr, library, "variable"),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuLibraryUnload(library));
    EXPECT_DRIVER(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

static void reservations()
{
    CUmemAllocationProp about = {};
    about.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    about.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit = 0;
    CUdeviceptr address;
    CHECK_DRIVER(
        cuMemGetAllocationGranularity(&unit, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT_DRIVER(cuMemAddressReserve(&address, unit, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemAddressReserve(&address, unit, unit + 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuMemAddressReserve(&address, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    for (size_t alignment : {(size_t)0, (size_t)1, unit * 2}) {
        CHECK_DRIVER(cuMemAddressReserve(&address, unit, alignment, 0, 0));
        if (alignment > 1 && address % alignment != 0)
            fail("0x%llx does not lie as asked for", (unsigned long long)address);
        CHECK_DRIVER(cuMemAddressFree(address, unit));
    }
}

// A list with room for nothing is an error, an empty question is not.
#define EXPECT_NO_ROOM(count, call)                                                                \
    (count) = 0;                                                                                   \
    EXPECT_DRIVER(call, CUDA_ERROR_INVALID_VALUE);                                                 \
    if ((count) != 0)                                                                              \
    fail("%s: the number is %zu", #call, (count))

#define EXPECT_COUNT(count, call, due)                                                             \
    (count) = 99;                                                                                  \
    CHECK_DRIVER(call);                                                                            \
    if ((count) != (due))                                                                          \
    fail("%s: the number is %zu, not %d", #call, (count), (due))

static void graph_questions()
{
    CUgraph graph;
    CUgraphNode first, second, list[4], other[4];
    size_t count = 0;
    CHECK_DRIVER(cuGraphCreate(&graph, 0));
    EXPECT_COUNT(count, cuGraphGetNodes(graph, nullptr, &count), 0);
    EXPECT_NO_ROOM(count, cuGraphGetNodes(graph, list, &count));
    CHECK_DRIVER(cuGraphAddEmptyNode(&first, graph, nullptr, 0));
    CHECK_DRIVER(cuGraphAddEmptyNode(&second, graph, &first, 1));
    EXPECT_COUNT(count, cuGraphGetNodes(graph, nullptr, &count), 2);
    EXPECT_COUNT(count, cuGraphGetRootNodes(graph, nullptr, &count), 1);
    EXPECT_NO_ROOM(count, cuGraphGetNodes(graph, list, &count));
    EXPECT_NO_ROOM(count, cuGraphGetRootNodes(graph, list, &count));
#if CUDA_VERSION >= 13000
    CUgraphEdgeData data[4];
    EXPECT_COUNT(count, cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), 1);
    EXPECT_COUNT(count, cuGraphNodeGetDependencies(second, nullptr, nullptr, &count), 1);
    EXPECT_COUNT(count, cuGraphNodeGetDependentNodes(second, nullptr, nullptr, &count), 0);
    EXPECT_NO_ROOM(count, cuGraphGetEdges(graph, list, other, nullptr, &count));
    EXPECT_NO_ROOM(count, cuGraphGetEdges(graph, list, other, data, &count));
    EXPECT_NO_ROOM(count, cuGraphNodeGetDependencies(second, list, nullptr, &count));
    EXPECT_NO_ROOM(count, cuGraphNodeGetDependencies(second, list, data, &count));
    EXPECT_NO_ROOM(count, cuGraphNodeGetDependentNodes(first, list, nullptr, &count));
    EXPECT_NO_ROOM(count, cuGraphNodeGetDependentNodes(second, list, data, &count));
#else
    EXPECT_NO_ROOM(count, cuGraphGetEdges(graph, list, other, &count));
    EXPECT_NO_ROOM(count, cuGraphNodeGetDependencies(second, list, &count));
    EXPECT_NO_ROOM(count, cuGraphNodeGetDependentNodes(first, list, &count));
#endif
    CHECK_DRIVER(cuGraphDestroy(graph));
    EXPECT_DRIVER(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
}

// A destroyed object is not destroyed a second time.
static void twice()
{
    CUstream stream;
    CUevent event;
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR shape = {};
    shape.Width = 16;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    CHECK_DRIVER(cuStreamCreate(&stream, 0));
    CHECK_DRIVER(cuEventCreate(&event, 0));
    CHECK_DRIVER(cuArrayCreate(&array, &shape));
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuEventDestroy(event));
    CHECK_DRIVER(cuArrayDestroy(array));
    EXPECT_DRIVER(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
    CHECK_DRIVER(cuMemFree(0));
    CHECK_DRIVER(cuTexObjectDestroy(0));
    CHECK(cudaFreeArray(nullptr));
}

int main()
{
    CUmodule module;
    CUdeviceptr device;
    CHECK(cudaFree(nullptr));
    CHECK_DRIVER(cuMemAlloc(&device, 4096));
    CHECK_DRIVER(cuModuleLoadData(&module, ptx));
    copies_of_nothing(device);
    fills_of_nothing(device);
    launches(module);
    variables(module);
    reservations();
    graph_questions();
    twice();
    CHECK_DRIVER(cuModuleUnload(module));
    CHECK_DRIVER(cuMemFree(device));
    EXPECT_DRIVER(cuMemFree(device), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuCtxSynchronize());
    return passed();
}
