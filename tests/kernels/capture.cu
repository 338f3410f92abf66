// SPDX-License-Identifier: Apache-2.0
/* semantics S84, S86. Streams that capture: what is put into them runs when the graph is launched,
 * and only then, with forks and joins by events, all kinds of work, and a library's algorithms. */
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/scan.h>

#include <thread>
#include <vector>

#include "check.h"

constexpr int N = 4096;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail("%s:%d: %s", __FILE__, __LINE__, #condition);                                     \
    } while (0)

__global__ void add(int *to, int what, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] += what;
    }
}

__global__ void sum(int *to, const int *a, const int *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] = a[i] + b[i];
    }
}

static int *device_zeros()
{
    int *at;
    CHECK(cudaMalloc(&at, N * sizeof(int)));
    CHECK(cudaMemset(at, 0, N * sizeof(int)));
    return at;
}

static std::vector<int> values(const int *at)
{
    std::vector<int> out(N);
    CHECK(cudaMemcpy(out.data(), at, N * sizeof(int), cudaMemcpyDeviceToHost));
    return out;
}

static void expect_all(const int *at, int wanted, const char *what)
{
    for (int value : values(at)) {
        if (value != wanted) {
            fail("%s: %d, not %d", what, value, wanted);
        }
    }
}

static cudaGraphExec_t made(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

/* Nothing runs while capturing; each launch runs all. */
static void simple(cudaStream_t stream)
{
    int *at = device_zeros();
    cudaGraph_t graph;
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 1; i <= 10; i++) {
        add<<<N / 256, 256, 0, stream>>>(at, i, N);
        CHECK(cudaGetLastError());
    }
    unsigned long long id = 0;
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
    EXPECT(id != 0);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    size_t nodes = 0, edges = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 10);
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
    EXPECT(edges == 9);
    expect_all(at, 0, "before the first launch");
    cudaGraphExec_t exec = made(graph);
    for (int i = 0; i < 100; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    expect_all(at, 5500, "after a hundred launches");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(at));
}

/* Two branches between an event and two others. */
static void fork_and_join(cudaStream_t stream)
{
    cudaStream_t left, right;
    cudaEvent_t fork, joins[2];
    int *a = device_zeros(), *b = device_zeros(), *c = device_zeros();
    CHECK(cudaStreamCreate(&left));
    CHECK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreate(&joins[0]));
    CHECK(cudaEventCreate(&joins[1]));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    add<<<N / 256, 256, 0, stream>>>(a, 1, N);
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(left, fork, 0));
    CHECK(cudaStreamWaitEvent(right, fork, 0));
    for (int i = 0; i < 5; i++) {
        add<<<N / 256, 256, 0, left>>>(a, 10, N);
        add<<<N / 256, 256, 0, right>>>(b, 100, N);
    }
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(right, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaEventRecord(joins[0], left));
    CHECK(cudaEventRecord(joins[1], right));
    CHECK(cudaStreamWaitEvent(stream, joins[0], 0));
    CHECK(cudaStreamWaitEvent(stream, joins[1], 0));
    CHECK(cudaStreamDestroy(left)); // others have joined it
    sum<<<N / 256, 256, 0, stream>>>(c, a, b, N);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamIsCapturing(right, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    cudaGraphExec_t exec = made(graph);
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    expect_all(a, 153, "left");
    expect_all(b, 1500, "right");
    expect_all(c, 1653, "both");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(right));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(joins[0]));
    CHECK(cudaEventDestroy(joins[1]));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

struct relay {
    int *from, *to;
    int calls;
};

/* The copied bytes are changed, and go in again. */
static void CUDART_CB double_all(void *data)
{
    auto *what = static_cast<relay *>(data);
    for (int i = 0; i < N; i++) {
        what->to[i] = 2 * what->from[i];
    }
    what->calls++;
}

/* Copies in and out, fills, rows, a host function between a copy out and a copy in. */
static void all_kinds(cudaStream_t stream, bool pinned)
{
    int *a = device_zeros(), *b = device_zeros(), *c = device_zeros();
    std::vector<int> source(N), pageable[2] = {std::vector<int>(N), std::vector<int>(N)};
    relay what = {pageable[0].data(), pageable[1].data(), 0};
    if (pinned) {
        CHECK(cudaMallocHost(&what.from, N * sizeof(int)));
        CHECK(cudaMallocHost(&what.to, N * sizeof(int)));
    }
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemcpyAsync(a, source.data(), N * sizeof(int), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemsetAsync(b, 0, N * sizeof(int), stream));
    add<<<N / 256, 256, 0, stream>>>(a, 3, N);
    CHECK(cudaMemcpy2DAsync(b, 64, a, 64, 32, N * sizeof(int) / 64, cudaMemcpyDeviceToDevice,
                            stream));
    CHECK(cudaMemcpyAsync(what.from, b, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, double_all, &what));
    CHECK(cudaMemcpyAsync(c, what.to, N * sizeof(int), cudaMemcpyHostToDevice, stream));
    add<<<N / 256, 256, 0, stream>>>(c, 1, N);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    EXPECT(what.calls == 0);
    cudaGraphExec_t exec = made(graph);
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < N; i++) {
            source[i] = i * round;
        }
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(what.calls == round);
        std::vector<int> out = values(c);
        for (int i = 0; i < N; i++) {
            int copied = i / 8 % 2 == 0 ? i * round + 3 : 0;
            EXPECT(out[i] == 2 * copied + 1);
        }
    }
    CHECK(cudaGraphExecDestroy(exec));
    if (pinned) {
        CHECK(cudaFreeHost(what.from));
        CHECK(cudaFreeHost(what.to));
    }
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
}

/* The launch of a graph is captured as what it does. */
static void nested(cudaStream_t stream)
{
    int *at = device_zeros();
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<N / 256, 256, 0, stream>>>(at, 1, N);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t inner = made(graph);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaGraphLaunch(inner, stream));
    add<<<N / 256, 256, 0, stream>>>(at, 10, N);
    CHECK(cudaGraphLaunch(inner, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t outer = made(graph);
    CHECK(cudaGraphExecDestroy(inner));
    CHECK(cudaGraphLaunch(outer, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect_all(at, 12, "nested");
    CHECK(cudaGraphExecDestroy(outer));
    CHECK(cudaFree(at));
}

/* A later capture of the same shape changes the executable. */
static void update(cudaStream_t stream)
{
    int *at = device_zeros();
    cudaGraphExec_t exec = nullptr;
    for (int i = 0; i < 10; i++) {
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        add<<<N / 256, 256, 0, stream>>>(at, i, N);
        add<<<N / 128, 128, 0, stream>>>(at, 100 * i, N);
        CHECK(cudaStreamEndCapture(stream, &graph));
        if (exec == nullptr) {
            CHECK(cudaGraphInstantiate(&exec, graph, 0));
        } else {
            cudaGraphExecUpdateResultInfo info;
            CHECK(cudaGraphExecUpdate(exec, graph, &info));
            EXPECT(info.result == cudaGraphExecUpdateSuccess);
        }
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    expect_all(at, 4545, "updated");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(at));
}

/* An algorithm of Thrust, whose memory comes from a buffer that was made before. */
struct buffer {
    using value_type = char;
    char *at;
    char *allocate(std::ptrdiff_t bytes)
    {
        EXPECT(bytes <= 1 << 20);
        return at;
    }
    void deallocate(char *, size_t)
    {
    }
};

static void algorithm(cudaStream_t stream)
{
    int *from = device_zeros(), *to = device_zeros();
    buffer temporary = {};
    CHECK(cudaMalloc(&temporary.at, 1 << 20));
    add<<<N / 256, 256, 0, stream>>>(from, 2, N);
    CHECK(cudaStreamSynchronize(stream));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    auto policy = thrust::cuda::par_nosync(temporary).on(stream);
    thrust::inclusive_scan(policy, thrust::device_pointer_cast(from),
                           thrust::device_pointer_cast(from) + N, thrust::device_pointer_cast(to));
    CHECK(cudaStreamEndCapture(stream, &graph));
    expect_all(to, 0, "scan before the launch");
    cudaGraphExec_t exec = made(graph);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<int> out = values(to);
    for (int i = 0; i < N; i++) {
        EXPECT(out[i] == 2 * (i + 1));
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    CHECK(cudaFree(temporary.at));
}

/* Threads that capture at once, each in its own stream. */
static void threads()
{
    constexpr int COUNT = 4;
    std::vector<std::thread> all;
    std::vector<int *> at;
    for (int t = 0; t < COUNT; t++) {
        at.push_back(device_zeros());
    }
    for (int t = 0; t < COUNT; t++) {
        all.emplace_back([t, &at] {
            for (int i = 0; i < 5; i++) {
                cudaGraph_t graph;
                CHECK(
                    cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
                add<<<N / 256, 256, 0, cudaStreamPerThread>>>(at[t], t + 1, N);
                CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
                cudaGraphExec_t exec = made(graph);
                CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
                CHECK(cudaStreamSynchronize(cudaStreamPerThread));
                CHECK(cudaGraphExecDestroy(exec));
            }
        });
    }
    for (auto &thread : all) {
        thread.join();
    }
    for (int t = 0; t < COUNT; t++) {
        expect_all(at[t], 5 * (t + 1), "a thread's");
        CHECK(cudaFree(at[t]));
    }
}

int main()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    simple(stream);
    fork_and_join(stream);
    all_kinds(stream, false);
    all_kinds(stream, true);
    nested(stream);
    update(stream);
    algorithm(stream);
    threads();
    CHECK(cudaStreamDestroy(stream));
    return passed();
}
