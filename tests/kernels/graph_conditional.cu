// SPDX-License-Identifier: Apache-2.0
// Conditional nodes: if and else, while, switch, one within another, changed ones, and ones between
// what the program does. Kernels decide what comes next by cudaGraphSetConditional.
#include "check.h"

__global__ void add(int *counter, int value) { *counter += value; }

__global__ void set(cudaGraphConditionalHandle handle, unsigned value)
{
    cudaGraphSetConditional(handle, value);
}

// Once more, until the counter has reached its end.
__global__ void count(int *counter, int end, cudaGraphConditionalHandle handle)
{
    cudaGraphSetConditional(handle, ++*counter < end);
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t after, const void *function,
                                  void **values)
{
    cudaKernelNodeParams params = {};
    cudaGraphNode_t node;
    params.func = const_cast<void *>(function);
    params.gridDim = dim3(1);
    params.blockDim = dim3(1);
    params.kernelParams = values;
    CHECK(cudaGraphAddKernelNode(&node, graph, &after, after != nullptr, &params));
    return node;
}

static cudaGraphNode_t add_condition(cudaGraph_t graph, cudaGraphNode_t after,
                                     cudaGraphConditionalHandle handle,
                                     cudaGraphConditionalNodeType type, unsigned size,
                                     cudaGraph_t *bodies)
{
    cudaGraphNodeParams params = {};
    cudaGraphNode_t node;
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&node, graph, &after, nullptr, after != nullptr, &params));
#else
    CHECK(cudaGraphAddNode(&node, graph, &after, after != nullptr, &params));
#endif
    for (unsigned i = 0; i < size; i++) {
        bodies[i] = params.conditional.phGraph_out[i];
    }
    return node;
}

static int *counter;

static int launched(cudaGraph_t graph, int times)
{
    cudaGraphExec_t exec;
    int value = 0;
    CHECK(cudaMemset(counter, 0, sizeof value));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; i++)
        CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaMemcpy(&value, counter, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphExecDestroy(exec));
    return value;
}

static void expect(const char *what, int got, int right)
{
    if (got != right)
        fail("%s counts %d, %d is right", what, got, right);
    printf("%s: %d\n", what, got);
}

static void if_and_else(unsigned condition, int right)
{
    cudaGraph_t graph, bodies[2];
    cudaGraphConditionalHandle handle;
    int one = 1, ten = 10, hundred = 100;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    void *set_values[] = {&handle, &condition};
    void *add_one[] = {&counter, &one}, *add_ten[] = {&counter, &ten};
    void *add_hundred[] = {&counter, &hundred};
    cudaGraphNode_t before = add_kernel(graph, nullptr, (void *)set, set_values);
    cudaGraphNode_t node =
        add_condition(graph, before, handle, cudaGraphCondTypeIf, 2, bodies);
    add_kernel(bodies[0], nullptr, (void *)add, add_one);
    add_kernel(bodies[1], nullptr, (void *)add, add_ten);
    add_kernel(graph, node, (void *)add, add_hundred);
    expect(condition != 0 ? "if" : "else", launched(graph, 2), 2 * right);
    CHECK(cudaGraphDestroy(graph));
}

static void while_loop(int end)
{
    cudaGraph_t graph, body;
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    add_condition(graph, nullptr, handle, cudaGraphCondTypeWhile, 1, &body);
    void *values[] = {&counter, &end, &handle};
    add_kernel(body, nullptr, (void *)count, values);
    // The second launch begins with the default again, and counts once.
    expect("while", launched(graph, 2), end + 1);
    CHECK(cudaGraphDestroy(graph));
}

static void one_of(unsigned which, int right)
{
    cudaGraph_t graph, bodies[3];
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, which, cudaGraphCondAssignDefault));
    add_condition(graph, nullptr, handle, cudaGraphCondTypeSwitch, 3, bodies);
    for (int i = 0; i < 3; i++) {
        int value = i + 1;
        void *values[] = {&counter, &value};
        add_kernel(bodies[i], nullptr, (void *)add, values);
    }
    expect("switch", launched(graph, 1), right);
    CHECK(cudaGraphDestroy(graph));
}

// A loop whose body adds ten in every second round.
__global__ void next_round(int *rounds, int end, cudaGraphConditionalHandle more,
                      cudaGraphConditionalHandle odd)
{
    int now = ++*rounds;
    cudaGraphSetConditional(odd, now % 2);
    cudaGraphSetConditional(more, now < end);
}

static void nested()
{
    cudaGraph_t graph, body, inner;
    cudaGraphConditionalHandle more, odd;
    int end = 7, ten = 10, *rounds;
    CHECK(cudaMalloc(&rounds, sizeof *rounds));
    CHECK(cudaMemset(rounds, 0, sizeof *rounds));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&more, graph, 1, cudaGraphCondAssignDefault));
    add_condition(graph, nullptr, more, cudaGraphCondTypeWhile, 1, &body);
    CHECK(cudaGraphConditionalHandleCreate(&odd, body, 0, 0));
    void *values[] = {&rounds, &end, &more, &odd}, *add_ten[] = {&counter, &ten};
    cudaGraphNode_t first = add_kernel(body, nullptr, (void *)next_round, values);
    add_condition(body, first, odd, cudaGraphCondTypeIf, 1, &inner);
    add_kernel(inner, nullptr, (void *)add, add_ten);
    expect("nested", launched(graph, 1), 40);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(rounds));
}

// The work of one executable changes: a kernel in a body by itself, then by a whole update.
static void changed()
{
    cudaGraph_t graph, other, body;
    cudaGraphExec_t exec, second;
    cudaGraphConditionalHandle handle;
    cudaGraphExecUpdateResultInfo info;
    int one = 1, ten = 10, hundred = 100, value = 0;
    CHECK(cudaMemset(counter, 0, sizeof value));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    add_condition(graph, nullptr, handle, cudaGraphCondTypeIf, 1, &body);
    void *add_one[] = {&counter, &one}, *add_ten[] = {&counter, &ten};
    void *add_hundred[] = {&counter, &hundred};
    cudaGraphNode_t node = add_kernel(body, nullptr, (void *)add, add_one);
    EXPECT_ERROR(cudaGraphClone(&other, graph), cudaErrorInvalidValue);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT_ERROR(cudaGraphInstantiate(&second, graph, 0), cudaErrorInvalidValue);
    CHECK(cudaGraphLaunch(exec, 0));
    cudaKernelNodeParams params = {};
    params.func = (void *)add;
    params.gridDim = params.blockDim = dim3(1);
    params.kernelParams = add_ten;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    CHECK(cudaGraphLaunch(exec, 0));
    params.kernelParams = add_hundred;
    CHECK(cudaGraphKernelNodeSetParams(node, &params));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaGraphExecUpdate(exec, graph, &info));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaMemcpy(&value, counter, sizeof value, cudaMemcpyDeviceToHost));
    expect("changed", value, 121);
    CHECK(cudaGraphExecDestroy(exec));
    expect("made again", launched(graph, 2), 200);
    CHECK(cudaGraphDestroy(graph));
}

__global__ void take(cudaGraphConditionalHandle handle, const int *wish)
{
    cudaGraphSetConditional(handle, *wish);
}

static void CUDART_CB wish_more(void *wish) { ++*(int *)wish; }

// Work of the program is before and behind: a host function, a copy there and one back. The body
// was captured, and has a fill, a copy, and a branch.
static void around()
{
    cudaGraph_t graph, body;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t host, there, kernel, node, back;
    cudaStream_t stream, aside;
    cudaEvent_t fork, join;
    int *wish, *wanted, *numbers, result[2] = {0, 0}, value = 7;
    CHECK(cudaMallocHost(&wish, sizeof *wish));
    CHECK(cudaMalloc(&wanted, sizeof *wanted));
    CHECK(cudaMalloc(&numbers, 2 * sizeof *numbers));
    CHECK(cudaMemset(numbers, 0, 2 * sizeof *numbers));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&aside));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    *wish = -1;
    cudaHostNodeParams function = {};
    function.fn = wish_more;
    function.userData = wish;
    CHECK(cudaGraphAddHostNode(&host, graph, nullptr, 0, &function));
    CHECK(cudaGraphAddMemcpyNode1D(&there, graph, &host, 1, wanted, wish, sizeof *wish,
                                   cudaMemcpyHostToDevice));
    void *values[] = {&handle, &wanted};
    kernel = add_kernel(graph, there, (void *)take, values);
    node = add_condition(graph, kernel, handle, cudaGraphCondTypeIf, 1, &body);
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &node, 1, result, numbers, sizeof result,
                                   cudaMemcpyDeviceToHost));
    CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                        cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(numbers, 0, sizeof *numbers, stream));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(aside, fork, 0));
    add<<<1, 1, 0, stream>>>(numbers, value);
    add<<<1, 1, 0, aside>>>(counter, value);
    CHECK(cudaEventRecord(join, aside));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    CHECK(cudaMemcpyAsync(numbers + 1, numbers, sizeof *numbers, cudaMemcpyDeviceToDevice,
                          stream));
    cudaGraph_t captured;
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        expect("around", result[0] + result[1], i == 0 ? 0 : 2 * value);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeHost(wish));
    CHECK(cudaFree(wanted));
    CHECK(cudaFree(numbers));
}

int main()
{
    CHECK(cudaMalloc(&counter, sizeof *counter));
    if_and_else(3, 101);
    if_and_else(0, 110);
    while_loop(1000);
    one_of(0, 1);
    one_of(2, 3);
    one_of(3, 0);
    nested();
    changed();
    around();
    CHECK(cudaFree(counter));
    return passed();
}
