// SPDX-License-Identifier: Apache-2.0
// A graph with a node of each kind, launched, changed and launched again: child graphs, copies,
// fills, host functions, events inside and outside, nodes that are off, clones, whole updates.
#include "check.h"

enum { COUNT = 1000, BYTES = COUNT * (int)sizeof(int) };

__global__ void add(int *data, int value, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] += value;
}

__global__ void multiply(int *data, int value, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] *= value;
}

static int *data, *source, *result, count = COUNT;
static cudaStream_t stream;

static cudaKernelNodeParams kernel(void *function, void **values)
{
    cudaKernelNodeParams params = {};
    params.func = function;
    params.gridDim = dim3(8);
    params.blockDim = dim3(128);
    params.kernelParams = values;
    return params;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function,
                                  int value)
{
    void *values[] = {&data, &value, &count};
    cudaKernelNodeParams params = kernel(function, values);
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, &after, after != nullptr, &params));
    return node;
}

static void launch_expect(cudaGraphExec_t exec, int right, const char *what)
{
    memset(result, 0xff, BYTES);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++) {
        if (result[i] != right)
            fail("%s: number %d is %d, %d is right", what, i, result[i], right);
    }
    printf("%s: %d\n", what, right);
}

static void count_call(void *calls) { ++*(int *)calls; }

struct Nodes {
    cudaGraph_t graph;
    cudaGraphNode_t in, first, child, host, last, out;
};

// source + 3, times 5 in a child graph, + `more`
static Nodes build(int more, int *calls)
{
    Nodes made;
    cudaGraph_t child;
    cudaHostNodeParams call = {count_call, calls};
    CHECK(cudaGraphCreate(&made.graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&made.in, made.graph, nullptr, 0, data, source, BYTES,
                                   cudaMemcpyHostToDevice));
    made.first = add_kernel(made.graph, made.in, (void *)add, 3);
    CHECK(cudaGraphCreate(&child, 0));
    add_kernel(child, nullptr, (void *)multiply, 5);
    CHECK(cudaGraphAddChildGraphNode(&made.child, made.graph, &made.first, 1, child));
    CHECK(cudaGraphDestroy(child));
    CHECK(cudaGraphAddHostNode(&made.host, made.graph, &made.child, 1, &call));
    made.last = add_kernel(made.graph, made.host, (void *)add, more);
    CHECK(cudaGraphAddMemcpyNode1D(&made.out, made.graph, &made.last, 1, result, data, BYTES,
                                   cudaMemcpyDeviceToHost));
    return made;
}

// Nodes know their kernel as the program does, whether it was added or captured, and take back what
// they have said.
static void asked_back()
{
    int calls = 0, value = 0;
    Nodes nodes = build(2, &calls);
    cudaKernelNodeParams found = {};
    CHECK(cudaGraphKernelNodeGetParams(nodes.last, &found));
    if (found.func != (void *)add || found.gridDim.x != 8 || *(int *)found.kernelParams[1] != 2)
        fail("a node says another kernel than it was given");
    CHECK(cudaGraphKernelNodeSetParams(nodes.last, &found));
    CHECK(cudaGraphDestroy(nodes.graph));

    cudaGraph_t captured;
    cudaGraphNode_t node;
    size_t count = 1;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    multiply<<<8, 128, 0, stream>>>(data, value, 0);
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphGetNodes(captured, &node, &count));
    CHECK(cudaGraphKernelNodeGetParams(node, &found));
    if (found.func != (void *)multiply)
        fail("a captured node says another kernel than was launched");
    CHECK(cudaGraphKernelNodeSetParams(node, &found));
    CHECK(cudaGraphDestroy(captured));
}

static void changes()
{
    int calls = 0, value = 7;
    Nodes nodes = build(2, &calls);
    cudaGraphExec_t exec, cloned;
    cudaGraph_t clone;
    CHECK(cudaGraphInstantiate(&exec, nodes.graph, 0));
    launch_expect(exec, 22, "as built");
    for (int i = 0; i < COUNT; i++)
        source[i] = 2; // a copy reads when it runs
    launch_expect(exec, 27, "another source");
    void *values[] = {&data, &value, &count};
    cudaKernelNodeParams params = kernel((void *)multiply, values);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes.first, &params));
    launch_expect(exec, 72, "another kernel");
    CHECK(cudaGraphNodeSetEnabled(exec, nodes.last, 0));
    launch_expect(exec, 70, "one is off");
    unsigned on = 1;
    CHECK(cudaGraphNodeGetEnabled(exec, nodes.last, &on));
    if (on != 0)
        fail("a node that is off says it is on");
    CHECK(cudaGraphNodeSetEnabled(exec, nodes.last, 1));
    CHECK(cudaGraphClone(&clone, nodes.graph));
    CHECK(cudaGraphDestroy(nodes.graph));
    launch_expect(exec, 72, "without its graph");
    CHECK(cudaGraphInstantiate(&cloned, clone, 0));
    launch_expect(cloned, 27, "a clone, as the graph was");
    Nodes other = build(100, &calls);
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, other.graph, &info));
    launch_expect(exec, 125, "updated as a whole");
    CHECK(cudaGraphDestroyNode(other.host));
    EXPECT_ERROR(cudaGraphExecUpdate(exec, other.graph, &info), cudaErrorGraphExecUpdateFailure);
    if (info.result != cudaGraphExecUpdateErrorTopologyChanged)
        fail("a graph of another shape is %d", info.result);
    launch_expect(exec, 125, "not updated");
    (void)cudaGetLastError();
    if (calls != 8)
        fail("the host function was called %d times, 8 is right", calls);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(cloned));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(other.graph));
    for (int i = 0; i < COUNT; i++)
        source[i] = 1;
}

__device__ int bumps;
__global__ void bump() { atomicAdd(&bumps, 1); }

// A kernel without parameters: there is nothing to copy, which is no error.
static void without_parameters()
{
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraphExecUpdateResultInfo info;
    cudaKernelNodeParams params = {};
    int got = 0;
    params.func = (void *)bump;
    params.gridDim = params.blockDim = dim3(1);
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    CHECK(cudaGraphClone(&clone, graph));
    params.gridDim = dim3(10);
    CHECK(cudaGraphKernelNodeSetParams(node, &params));
    CHECK(cudaGraphInstantiate(&exec, clone, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpyFromSymbol(&got, bumps, sizeof got));
    if (got != 11)
        fail("kernels without parameters count %d, not 11", got);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphDestroy(graph));
}

// A change after a launch does not change that launch.
static void changes_between_launches()
{
    int calls = 0, value;
    Nodes nodes = build(0, &calls);
    cudaGraphExec_t exec;
    void *values[] = {&data, &value, &count};
    cudaKernelNodeParams params = kernel((void *)add, values);
    int *sum;
    CHECK(cudaGraphDestroyNode(nodes.in)); // it adds up from launch to launch
    CHECK(cudaGraphDestroyNode(nodes.child)); // and what it had ordered
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddDependencies(nodes.graph, &nodes.first, &nodes.host, nullptr, 1));
#else
    CHECK(cudaGraphAddDependencies(nodes.graph, &nodes.first, &nodes.host, 1));
#endif
    CHECK(cudaMemset(data, 0, BYTES));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphInstantiate(&exec, nodes.graph, 0));
    for (value = 1; value <= 100; value++) {
        CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes.first, &params));
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaGraphExecDestroy(exec)); // what was launched is done all the same
    CHECK(cudaStreamSynchronize(stream));
    sum = (int *)malloc(BYTES);
    CHECK(cudaMemcpy(sum, data, BYTES, cudaMemcpyDeviceToHost));
    if (sum[17] != 5050 || calls != 100)
        fail("a hundred launches make %d with %d calls, 5050 and 100 are right", sum[17], calls);
    free(sum);
    CHECK(cudaGraphDestroy(nodes.graph));
}

// Events order a graph with other streams; a batch of values ends it.
static void events()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t waits, filled, records;
    cudaEvent_t before, after;
    cudaStream_t other;
    cudaMemsetParams fill = {};
    int *seen = (int *)malloc(BYTES);
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    fill.dst = data;
    fill.elementSize = 4;
    fill.value = 77;
    fill.width = COUNT;
    fill.height = 1;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEventWaitNode(&waits, graph, nullptr, 0, before));
    CHECK(cudaGraphAddMemsetNode(&filled, graph, &waits, 1, &fill));
    CHECK(cudaGraphAddEventRecordNode(&records, graph, &filled, 1, after));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 20; i++) {
        CHECK(cudaMemsetAsync(data, i, BYTES, other));
        CHECK(cudaEventRecord(before, other));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamWaitEvent(other, after, 0));
        CHECK(cudaMemcpyAsync(seen, data, BYTES, cudaMemcpyDeviceToHost, other));
        CHECK(cudaStreamSynchronize(other));
        if (seen[0] != 77 || seen[COUNT - 1] != 77)
            fail("behind the graph's event there is %d, 77 is right", seen[0]);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(before));
    CHECK(cudaEventDestroy(after));
    CHECK(cudaStreamDestroy(other));
    free(seen);
}

static void destroyed(void *flag) { *(volatile int *)flag = 1; }

static void user_object()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaUserObject_t object;
    volatile int flag = 0;
    CHECK(cudaGraphCreate(&graph, 0));
    add_kernel(graph, nullptr, (void *)add, 1);
    CHECK(cudaUserObjectCreate(&object, (void *)&flag, destroyed, 1,
                               cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 50; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    if (flag != 0)
        fail("an object is destroyed while an executable holds it");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < 10000000 && flag == 0; i++) {
    }
    cudaGraph_t more; // any call: the object may be destroyed by another thread
    for (int i = 0; i < 100000 && flag == 0; i++) {
        CHECK(cudaGraphCreate(&more, 0));
        CHECK(cudaGraphDestroy(more));
    }
    if (flag == 0)
        fail("an object is not destroyed when nothing holds it");
}

int main()
{
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaMallocHost(&result, BYTES));
    CHECK(cudaStreamCreate(&stream));
    source = (int *)malloc(BYTES);
    for (int i = 0; i < COUNT; i++)
        source[i] = 1;
    asked_back();
    changes();
    without_parameters();
    changes_between_launches();
    events();
    user_object();
    free(source);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(result));
    CHECK(cudaFree(data));
    return passed();
}
