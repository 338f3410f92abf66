// SPDX-License-Identifier: Apache-2.0
// Nodes that allocate: memory that lives within a launch, memory that a launch leaves behind or
// hands to another graph, what the device says it holds for graphs.
#include "check.h"

__global__ void fill(int *data, int value, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = value + i;
}

__global__ void twice(int *to, const int *from, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = 2 * from[i];
}

enum { COUNT = 300000, BYTES = COUNT * (int)sizeof(int) };

static cudaMemAllocNodeParams wanted()
{
    cudaMemAllocNodeParams params = {};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = BYTES;
    return params;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function,
                                  void **values)
{
    cudaKernelNodeParams params = {};
    cudaGraphNode_t node;
    params.func = function;
    params.gridDim = dim3((COUNT + 255) / 256);
    params.blockDim = dim3(256);
    params.kernelParams = values;
    CHECK(cudaGraphAddKernelNode(&node, graph, &after, 1, &params));
    return node;
}

static size_t attribute(cudaGraphMemAttributeType which)
{
    uint64_t value;
    CHECK(cudaDeviceGetGraphMemAttribute(0, which, &value));
    return value;
}

static void check(const int *host, int factor, int first)
{
    for (int i = 0; i < COUNT; i++) {
        if (host[i] != factor * (first + i))
            fail("number %d is %d, %d is right", i, host[i], factor * (first + i));
    }
}

// Allocated, used and freed in each launch.
static void within(int *host)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t allocated, other, filled, doubled, copied, freed;
    int *out, count = COUNT, value = 5;
    CHECK(cudaMalloc(&out, BYTES));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams params = wanted();
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &params));
    int *data = (int *)params.dptr;
    void *values[] = {&data, &value, &count}, *doubles[] = {&out, &data, &count};
    filled = add_kernel(graph, allocated, (void *)fill, values);
    doubled = add_kernel(graph, filled, (void *)twice, doubles);
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &doubled, 1, data));
    CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &doubled, 1, host, out, BYTES,
                                   cudaMemcpyDeviceToHost));
    EXPECT_ERROR(cudaGraphAddMemFreeNode(&other, graph, &doubled, 1, data), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphAddMemFreeNode(&other, graph, &doubled, 1, out), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphDestroyNode(copied), cudaErrorInvalidValue);
    cudaGraph_t clone;
    EXPECT_ERROR(cudaGraphClone(&clone, graph), cudaErrorInvalidValue);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    if (attribute(cudaGraphMemAttrUsedMemCurrent) != 0)
        fail("memory is taken before the first launch");
    cudaGraphExec_t second;
    EXPECT_ERROR(cudaGraphInstantiate(&second, graph, 0), cudaErrorInvalidValue);
    for (int i = 0; i < 3; i++) {
        memset(host, 0, BYTES);
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaStreamSynchronize(0));
        check(host, 2, 5);
    }
    if (attribute(cudaGraphMemAttrUsedMemCurrent) < BYTES)
        fail("memory does not stay from launch to launch");
    CHECK(cudaDeviceGraphMemTrim(0));
    if (attribute(cudaGraphMemAttrUsedMemCurrent) != 0 ||
        attribute(cudaGraphMemAttrUsedMemHigh) < BYTES)
        fail("%zu bytes used, %zu at most", attribute(cudaGraphMemAttrUsedMemCurrent),
             attribute(cudaGraphMemAttrUsedMemHigh));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaStreamSynchronize(0));
    check(host, 2, 5);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(out));
}

// Left by one launch, read and freed by the program.
static void left_behind(int *host)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t allocated;
    int count = COUNT, value = 9;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams params = wanted();
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &params));
    int *data = (int *)params.dptr;
    void *values[] = {&data, &value, &count};
    add_kernel(graph, allocated, (void *)fill, values);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    EXPECT_ERROR(cudaGraphLaunch(exec, 0), cudaErrorInvalidValue);
    CHECK(cudaMemcpy(host, data, BYTES, cudaMemcpyDeviceToHost));
    check(host, 1, 9);
    if (attribute(cudaGraphMemAttrUsedMemCurrent) < BYTES)
        fail("what a launch leaves is not counted");
    CHECK(cudaFree(data));
    EXPECT_ERROR(cudaFree(data), cudaErrorInvalidValue);
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaFree(data));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceGraphMemTrim(0));
    if (attribute(cudaGraphMemAttrReservedMemCurrent) != 0)
        fail("%zu bytes stay reserved", attribute(cudaGraphMemAttrReservedMemCurrent));
    uint64_t zero = 0;
    CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
    if (attribute(cudaGraphMemAttrReservedMemHigh) != 0)
        fail("the high mark stays");
}

static void launch_and_check(cudaGraphExec_t exec, cudaStream_t stream, const int *host, int factor,
                             int first)
{
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    check(host, factor, first);
}

// Captured: filled by a copy from the host, doubled, copied back.
static void captured(int *host)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *from = (int *)malloc(BYTES), *one, *two;
    for (int i = 0; i < COUNT; i++)
        from[i] = 3 + i;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&one, BYTES, stream));
    CHECK(cudaMallocAsync(&two, BYTES, stream));
    CHECK(cudaMemsetAsync(two, 0x11, BYTES, stream));
    CHECK(cudaMemcpyAsync(one, from, BYTES, cudaMemcpyHostToDevice, stream));
    twice<<<(COUNT + 255) / 256, 256, 0, stream>>>(two, one, COUNT);
    CHECK(cudaMemcpyAsync(one, two, BYTES, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(two, stream));
    CHECK(cudaMemcpyAsync(host, one, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(one, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        memset(host, 0, BYTES);
        launch_and_check(exec, stream, host, 2, 3);
        CHECK(cudaDeviceGraphMemTrim(0));
    }
    EXPECT_ERROR(cudaMemcpy(host, one, BYTES, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    launch_and_check(exec, stream, host, 2, 3);
    if (attribute(cudaGraphMemAttrReservedMemCurrent) < 2 * BYTES)
        fail("%zu bytes reserved for two", attribute(cudaGraphMemAttrReservedMemCurrent));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph)); // the memory of both goes with it
    CHECK(cudaDeviceGraphMemTrim(0));
    if (attribute(cudaGraphMemAttrReservedMemCurrent) != 0)
        fail("%zu bytes of a graph stay", attribute(cudaGraphMemAttrReservedMemCurrent));
    CHECK(cudaStreamDestroy(stream));
    free(from);
}

// Allocated by one graph, filled and freed by another one, which changes meanwhile; and once more,
// freed by the program in its stream.
static void handed_over(int *host)
{
    cudaGraph_t makes, frees;
    cudaGraphExec_t making, freeing;
    cudaGraphNode_t allocated, filled, copied, freed;
    cudaStream_t stream;
    int count = COUNT, value = 4, other = 6;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaGraphCreate(&makes, 0));
    cudaMemAllocNodeParams params = wanted();
    CHECK(cudaGraphAddMemAllocNode(&allocated, makes, nullptr, 0, &params));
    CHECK(cudaGraphInstantiate(&making, makes, 0));
    int *data = (int *)params.dptr;
    CHECK(cudaGraphCreate(&frees, 0));
    cudaMemsetParams fill_params = {};
    fill_params.dst = data;
    fill_params.elementSize = 4;
    fill_params.width = COUNT;
    fill_params.height = 1;
    CHECK(cudaGraphAddMemsetNode(&filled, frees, nullptr, 0, &fill_params));
    CHECK(cudaGraphAddMemcpyNode1D(&copied, frees, &filled, 1, host, data, BYTES,
                                   cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemFreeNode(&freed, frees, &copied, 1, data));
    CHECK(cudaGraphInstantiate(&freeing, frees, 0));
    EXPECT_ERROR(cudaGraphLaunch(freeing, stream), cudaErrorInvalidValue);
    CHECK(cudaGraphLaunch(making, stream));
    CHECK(cudaGraphLaunch(freeing, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (host[0] != 0 || host[COUNT - 1] != 0)
        fail("filled with %d and %d", host[0], host[COUNT - 1]);
    fill_params.value = 0x01020304;
    CHECK(cudaGraphExecMemsetNodeSetParams(freeing, filled, &fill_params));
    CHECK(cudaGraphLaunch(making, stream));
    CHECK(cudaGraphLaunch(freeing, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (host[0] != 0x01020304 || host[COUNT - 1] != 0x01020304)
        fail("filled with %x and %x", host[0], host[COUNT - 1]);
    CHECK(cudaGraphLaunch(making, stream));
    fill<<<(COUNT + 255) / 256, 256, 0, stream>>>(data, value, count);
    CHECK(cudaMemcpyAsync(host, data, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    check(host, 1, value);
    EXPECT_ERROR(cudaFreeAsync(data, stream), cudaErrorInvalidValue);
    // A graph that is destroyed while it runs runs to its end all the same.
    CHECK(cudaGraphLaunch(making, stream));
    fill<<<(COUNT + 255) / 256, 256, 0, stream>>>(data, other, count);
    CHECK(cudaMemcpyAsync(host, data, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaGraphExecDestroy(making));
    CHECK(cudaGraphDestroy(makes));
    CHECK(cudaStreamSynchronize(stream));
    check(host, 1, other);
    CHECK(cudaGraphExecDestroy(freeing));
    CHECK(cudaGraphDestroy(frees));
    CHECK(cudaStreamDestroy(stream));
}

// A launch that cannot be leaves everything as it was, what it would have freed first included.
static void refused()
{
    cudaGraph_t makes, graph;
    cudaGraphExec_t making, exec;
    cudaGraphNode_t node, allocated;
    cudaMemAllocNodeParams params = wanted(), left = wanted();
    CHECK(cudaGraphCreate(&makes, 0));
    CHECK(cudaGraphAddMemAllocNode(&node, makes, nullptr, 0, &params));
    CHECK(cudaGraphInstantiate(&making, makes, 0));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &left));
    CHECK(cudaGraphAddMemFreeNode(&node, graph, &allocated, 1, params.dptr));
    CHECK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    EXPECT_ERROR(cudaGraphLaunch(exec, 0), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree(left.dptr), cudaErrorInvalidValue);
    CHECK(cudaGraphLaunch(making, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    EXPECT_ERROR(cudaGraphLaunch(exec, 0), cudaErrorInvalidValue);
    CHECK(cudaFree(left.dptr));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(making));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(makes));
}

int main()
{
    int *host = (int *)malloc(BYTES);
    within(host);
    left_behind(host);
    captured(host);
    handed_over(host);
    refused();
    free(host);
    return passed();
}
