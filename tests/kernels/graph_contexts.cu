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
    MUST(cuCtxDestroy(other));
    MUST(cuCtxSetCurrent(primary));
    CHECK(cudaFree(counter));
    return passed();
}
