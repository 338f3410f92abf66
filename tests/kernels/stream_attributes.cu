// SPDX-License-Identifier: Apache-2.0
// Priorities of streams: their range, what becomes of one outside of it, and that a kernel of a
// greater priority goes first. The other attributes of a stream are kept as they were set.
// semantics S20
#include "check_driver.h"

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0) {
    }
}

__global__ void take_rank(int *next, int *rank)
{
    *rank = atomicAdd(next, 1);
}

static int least, greatest;

static void check_clamping()
{
    cudaStream_t stream;
    int priority;
    const int asked[] = {greatest - 7, greatest, (greatest + least) / 2, least, least + 7};
    const int due[] = {greatest, greatest, (greatest + least) / 2, least, least};
    for (int i = 0; i < 5; i++) {
        CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, asked[i]));
        CHECK(cudaStreamGetPriority(stream, &priority));
        if (priority != due[i])
            fail("priority %d becomes %d, not %d", asked[i], priority, due[i]);
        unsigned flags = 9;
        CHECK(cudaStreamGetFlags(stream, &flags));
        if (flags != cudaStreamNonBlocking)
            fail("flags are %u", flags);
        CHECK(cudaStreamDestroy(stream));
    }
    CHECK(cudaStreamGetPriority(nullptr, &priority));
    if (priority != 0)
        fail("the default stream has priority %d", priority);
    CHECK_DRIVER(cuCtxGetStreamPriorityRange(nullptr, nullptr));
}

// More kernels wait for the flag than a software GPU runs at once; behind them queue kernels of
// low, then of high priority. How the high ones got theirs: 0 with their stream, 1 as an attribute
// of their stream, 2 as an attribute of the launch.
static void check_order(int how)
{
    enum { WAITING = 16, EACH = 24 };
    int *flag, *next, *ranks, one = 1, host[2 * EACH];
    cudaStream_t waiting[WAITING], low[EACH], high[EACH], copies;
    CHECK(cudaMalloc(&flag, sizeof *flag));
    CHECK(cudaMalloc(&next, sizeof *next));
    CHECK(cudaMalloc(&ranks, sizeof host));
    CHECK(cudaMemset(flag, 0, sizeof *flag));
    CHECK(cudaMemset(next, 0, sizeof *next));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    for (cudaStream_t &stream : waiting) {
        CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
        wait_for<<<1, 1, 0, stream>>>(flag);
    }
    for (int i = 0; i < EACH; i++) {
        CHECK(cudaStreamCreateWithPriority(&low[i], cudaStreamNonBlocking, least));
        take_rank<<<1, 1, 0, low[i]>>>(next, ranks + i);
    }
    for (int i = 0; i < EACH; i++) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributePriority;
        attribute.val.priority = greatest + 1;
        CHECK(cudaStreamCreateWithPriority(&high[i], cudaStreamNonBlocking,
                                           how == 0 ? greatest + 1 : least));
        if (how == 1)
            CHECK(cudaStreamSetAttribute(high[i], cudaStreamAttributePriority, &attribute.val));
        cudaLaunchConfig_t config = {};
        config.gridDim = config.blockDim = dim3(1);
        config.stream = high[i];
        config.attrs = &attribute;
        config.numAttrs = how == 2;
        CHECK(cudaLaunchKernelEx(&config, take_rank, next, ranks + EACH + i));
    }
    CHECK(cudaMemcpyAsync(flag, &one, sizeof one, cudaMemcpyHostToDevice, copies));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, ranks, sizeof host, cudaMemcpyDeviceToHost));
    int sum[2] = {};
    for (int i = 0; i < 2 * EACH; i++)
        sum[i / EACH] += host[i];
    printf("way %d: on average, low goes as number %d, high as %d\n", how, sum[0] / EACH,
           sum[1] / EACH);
    // Kernels at the border between the two may change places.
    if (sum[1] / EACH > EACH / 2 + 8 || sum[0] / EACH < EACH + EACH / 2 - 8)
        fail("kernels of high priority do not go first");
    for (int i = 0; i < EACH; i++) {
        CHECK(cudaStreamDestroy(low[i]));
        CHECK(cudaStreamDestroy(high[i]));
    }
    for (cudaStream_t stream : waiting)
        CHECK(cudaStreamDestroy(stream));
}

static void check_attributes()
{
    CUstream stream, other;
    CUstreamAttrValue value = {}, got = {};
    CHECK_DRIVER(cuStreamCreate(&stream, 0));
    CHECK_DRIVER(cuStreamCreate(&other, 0));
    CHECK_DRIVER(cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
    if (got.syncPolicy != CU_SYNC_POLICY_AUTO)
        fail("a new stream has policy %d", (int)got.syncPolicy);
    value.syncPolicy = CU_SYNC_POLICY_BLOCKING_SYNC;
    CHECK_DRIVER(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    value.accessPolicyWindow.base_ptr = (void *)4096;
    value.accessPolicyWindow.num_bytes = 0;
    value.accessPolicyWindow.hitRatio = 0.5;
    value.accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
    value.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_STREAMING;
    CHECK_DRIVER(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
    value.priority = greatest;
    CHECK_DRIVER(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_PRIORITY, &value));
    CHECK_DRIVER(cuStreamCopyAttributes(other, stream));
    CHECK_DRIVER(cuStreamGetAttribute(other, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
    if (got.syncPolicy != CU_SYNC_POLICY_BLOCKING_SYNC)
        fail("the policy was not copied");
    CHECK_DRIVER(cuStreamGetAttribute(other, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &got));
    if (got.accessPolicyWindow.hitRatio != 0.5f || got.accessPolicyWindow.base_ptr != (void *)4096)
        fail("the window was not copied");
    CHECK_DRIVER(cuStreamGetAttribute(other, CU_STREAM_ATTRIBUTE_PRIORITY, &got));
    int priority = 99;
    CHECK_DRIVER(cuStreamGetPriority(other, &priority));
    if (got.priority != greatest || priority != greatest)
        fail("the priority was not copied");
    // The legacy stream has attributes as well.
    value.syncPolicy = CU_SYNC_POLICY_SPIN;
    CHECK_DRIVER(cuStreamSetAttribute(nullptr, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    CHECK_DRIVER(
        cuStreamGetAttribute(CU_STREAM_LEGACY, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
    if (got.syncPolicy != CU_SYNC_POLICY_SPIN)
        fail("the legacy stream forgets its policy");

    CUstreamAttrID cooperative = (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    EXPECT_DRIVER(cuStreamSetAttribute(stream, cooperative, &value), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuStreamGetAttribute(stream, cooperative, &got), CUDA_ERROR_INVALID_VALUE);
    value.syncPolicy = (CUsynchronizationPolicy)77;
    EXPECT_DRIVER(cuStreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuStreamDestroy(stream));
    EXPECT_DRIVER(cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_PRIORITY, &got),
                  CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuStreamCopyAttributes(other, stream), CUDA_ERROR_INVALID_HANDLE);
}

// Attributes by their numbers, since older headers have no names for them.
static void check_newer()
{
    const int preferred_cluster = 11, updatable = 13, nvlink = 16;
    CUstream stream;
    CUgraph graph;
    CUgraphNode node;
    CUfunction function;
    CUstreamAttrValue value = {}, got = {};
    unsigned one = 1, two = 2, is = 9;
    CHECK_DRIVER(cuStreamCreate(&stream, 0));
    memcpy(&value, &one, sizeof one);
    CHECK_DRIVER(cuStreamSetAttribute(stream, (CUstreamAttrID)nvlink, &value));
    CHECK_DRIVER(cuStreamGetAttribute(stream, (CUstreamAttrID)nvlink, &got));
    memcpy(&is, &got, sizeof is);
    if (is != 1)
        fail("the scheduling for NVLink is %u", is);
    memcpy(&value, &two, sizeof two);
    EXPECT_DRIVER(cuStreamSetAttribute(stream, (CUstreamAttrID)nvlink, &value),
                  CUDA_ERROR_INVALID_VALUE);
    CHECK(cudaGetFuncBySymbol((cudaFunction_t *)&function, (const void *)take_rank));
    CUDA_KERNEL_NODE_PARAMS params = {};
    int *nothing = nullptr;
    void *arguments[] = {&nothing, &nothing};
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    CHECK_DRIVER(cuGraphCreate(&graph, 0));
    CHECK_DRIVER(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    for (int number : {preferred_cluster, nvlink}) {
        CUkernelNodeAttrValue wanted = {}, kept = {};
        wanted.clusterDim.x = wanted.clusterDim.y = wanted.clusterDim.z = 1;
        CHECK_DRIVER(cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)number, &wanted));
        CHECK_DRIVER(cuGraphKernelNodeGetAttribute(node, (CUkernelNodeAttrID)number, &kept));
        if (kept.clusterDim.x != 1)
            fail("attribute %d of a node is %u", number, kept.clusterDim.x);
    }
    CUkernelNodeAttrValue wanted = {};
    CHECK_DRIVER(cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)updatable, &wanted));
    memcpy(&wanted, &one, sizeof one);
    EXPECT_DRIVER(cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)updatable, &wanted),
                  CUDA_ERROR_NOT_SUPPORTED);
    CHECK_DRIVER(cuGraphDestroy(graph));
    CHECK_DRIVER(cuStreamDestroy(stream));
}

int main()
{
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    if (least != 0 || greatest >= least)
        fail("priorities go from %d to %d", least, greatest);
    check_clamping();
    for (int how = 0; how < 3; how++)
        check_order(how);
    check_attributes();
    check_newer();
    return passed();
}
