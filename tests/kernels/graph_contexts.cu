// SPDX-License-Identifier: Apache-2.0
// A graph of one context, launched into streams of another one: its events are recorded all the
// same, when what comes before them is done, and what comes behind in the stream comes later.
#include <cuda.h>

#include "check.h"

static void must(CUresult rc, const char *what)
{
    if (rc != CUDA_SUCCESS)
        fail("%s answers %d", what, (int)rc);
}
#define MUST(call) must(call, #call)

// Long enough to be seen when the event does not wait for it.
__global__ void slow(unsigned *counter, int rounds)
{
    unsigned value = 1;
    for (int i = 0; i < rounds; i++)
        value = value * 1664525u + 1013904223u;
    *counter += value != 0 ? 1 : 2;
}

static void launch(CUgraphExec exec, CUstream stream, CUevent event, CUdeviceptr counter,
                   unsigned right)
{
    unsigned value = 0;
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuEventSynchronize(event));
    MUST(cuMemcpyDtoH(&value, counter, sizeof value));
    if (value != right)
        fail("the event is done and the counter %u, not %u", value, right);
    MUST(cuStreamSynchronize(stream));
    MUST(cuEventQuery(event));
}

#if CUDA_VERSION >= 13000
// New parameters of a node keep its context, unless another one is given, which must be one.
static void change(CUgraphNode node, CUgraphNodeParams *params, CUcontext *said, CUcontext other)
{
    CUcontext wrong;
    MUST(cuCtxCreate(&wrong, nullptr, 0, 0));
    MUST(cuCtxDestroy(wrong));
    for (CUcontext context : {other, (CUcontext) nullptr}) {
        *said = context;
        MUST(cuGraphNodeSetParams(node, params));
    }
    *said = wrong;
    if (cuGraphNodeSetParams(node, params) == CUDA_SUCCESS)
        fail("nodes of type %d go into a context that is gone", (int)params->type);
}

static CUcontext context_of(CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS params;
    MUST(cuGraphKernelNodeGetParams(node, &params));
    return params.ctx;
}

static void changed(CUcontext first, CUcontext second, unsigned *counter)
{
    CUgraph graph;
    CUgraphNode node;
    int rounds = 1;
    void *values[] = {&counter, &rounds};
    CUgraphNodeParams kernel = {}, fill = {}, copy = {};
    MUST(cuGraphCreate(&graph, 0));
    kernel.type = CU_GRAPH_NODE_TYPE_KERNEL;
    CHECK(cudaGetKernel((cudaKernel_t *)&kernel.kernel.kern, (const void *)slow));
    kernel.kernel.gridDimX = kernel.kernel.gridDimY = kernel.kernel.gridDimZ = 1;
    kernel.kernel.blockDimX = kernel.kernel.blockDimY = kernel.kernel.blockDimZ = 1;
    kernel.kernel.kernelParams = values;
    kernel.kernel.ctx = first;
    MUST(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &kernel));
    if (context_of(node) != first)
        fail("a kernel is not in the context that was said");
    change(node, &kernel, &kernel.kernel.ctx, second);
    if (context_of(node) != second)
        fail("a kernel has not gone into the other context");

    fill.type = CU_GRAPH_NODE_TYPE_MEMSET;
    fill.memset.dst = (CUdeviceptr)counter;
    fill.memset.elementSize = 4;
    fill.memset.width = fill.memset.height = 1;
    fill.memset.ctx = first;
    MUST(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &fill));
    change(node, &fill, &fill.memset.ctx, first);

    copy.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    copy.memcpy.copyCtx = first;
    copy.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.memcpy.copyParams.srcHost = &rounds;
    copy.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.memcpy.copyParams.dstDevice = (CUdeviceptr)counter;
    copy.memcpy.copyParams.WidthInBytes = 4;
    copy.memcpy.copyParams.Height = copy.memcpy.copyParams.Depth = 1;
    MUST(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &copy));
    change(node, &copy, &copy.memcpy.copyCtx, first);
    MUST(cuGraphDestroy(graph));
}
#endif

int main()
{
    CUcontext primary, other;
    CUstream streams[2], origin;
    CUevent event, waited;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode kernel, record, wait;
    unsigned *counter;
    int rounds = 20000;
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    CHECK(cudaDeviceSynchronize()); // no stream below waits for it
    MUST(cuCtxGetCurrent(&primary));
    MUST(cuEventCreate(&event, CU_EVENT_DEFAULT));
    MUST(cuEventCreate(&waited, CU_EVENT_DEFAULT));
    MUST(cuStreamCreate(&origin, CU_STREAM_NON_BLOCKING));
    MUST(cuEventRecord(waited, origin));
    CHECK(cudaGraphCreate((cudaGraph_t *)&graph, 0));
    cudaKernelNodeParams params = {};
    void *values[] = {&counter, &rounds};
    params.func = (void *)slow;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = values;
    MUST(cuGraphAddEventWaitNode(&wait, graph, nullptr, 0, waited));
    CHECK(cudaGraphAddKernelNode((cudaGraphNode_t *)&kernel, graph, (cudaGraphNode_t *)&wait, 1,
                                 &params));
    MUST(cuGraphAddEventRecordNode(&record, graph, &kernel, 1, event));
    MUST(cuGraphInstantiate(&exec, graph, 0));
#if CUDA_VERSION >= 13000
    MUST(cuCtxCreate(&other, nullptr, 0, 0));
#else
    MUST(cuCtxCreate(&other, 0, 0));
#endif
    MUST(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    MUST(cuStreamCreate(&streams[1], CU_STREAM_DEFAULT));
    launch(exec, origin, event, (CUdeviceptr)counter, 1);
    launch(exec, streams[0], event, (CUdeviceptr)counter, 2);
    launch(exec, streams[1], event, (CUdeviceptr)counter, 3);
    launch(exec, nullptr, event, (CUdeviceptr)counter, 4);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
#if CUDA_VERSION >= 13000
    changed(primary, other, counter);
#endif
    MUST(cuCtxDestroy(other));
    MUST(cuCtxSetCurrent(primary));
    CHECK(cudaFree(counter));
    return passed();
}
