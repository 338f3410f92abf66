// SPDX-License-Identifier: Apache-2.0
// Functions that streams call: their order, many at once, a long one that holds up nothing but its
// stream, what they may and may not do, and what they are told after an error.
// semantics S21, S22, S23, S24
#include <atomic>
#include <thread>
#include <unistd.h>

#include "check.h"

__global__ void fill(int *data, int value, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = value;
}

__global__ void outside()
{
    *(volatile int *)64 = 1;
}

static void wait_for(const std::atomic<int> &what, int least, const char *name)
{
    for (int ms = 0; what.load() < least; ms++) {
        if (ms > 60000)
            fail("%s: %d, %d is due", name, what.load(), least);
        usleep(1000);
    }
}

// Holds its stream until it is let go.
static void CUDART_CB hold(void *gate)
{
    wait_for(*(std::atomic<int> *)gate, 1, "the gate");
}

// ---- order

struct Step {
    std::atomic<int> *next;
    int number, wrong;
};

static void CUDART_CB step(void *data)
{
    Step *self = (Step *)data;
    self->wrong = self->next->fetch_add(1) != self->number;
}

static void CUDART_CB step_back(cudaStream_t, cudaError_t status, void *data)
{
    step(data);
    ((Step *)data)->wrong |= status != cudaSuccess;
}

static void order(cudaStream_t stream, const char *name)
{
    const int count = 200;
    std::atomic<int> next(0);
    Step steps[count];
    for (int i = 0; i < count; i++) {
        steps[i] = {&next, i, 1};
        if (i % 2)
            CHECK(cudaStreamAddCallback(stream, step_back, &steps[i], 0));
        else
            CHECK(cudaLaunchHostFunc(stream, step, &steps[i]));
    }
    CHECK(cudaStreamSynchronize(stream));
    if (next != count)
        fail("%s: synchronized after %d of %d functions", name, next.load(), count);
    for (int i = 0; i < count; i++)
        if (steps[i].wrong)
            fail("%s: function %d out of order", name, i);
}

// ---- work before and after

struct Look {
    const int *data;
    int count, expected;
    std::atomic<int> wrong;
};

static void CUDART_CB look(void *at)
{
    Look *self = (Look *)at;
    int wrong = 0;
    for (int i = 0; i < self->count; i++)
        wrong += self->data[i] != self->expected;
    self->wrong = wrong;
}

// A function sees what was copied to the host before it, and nothing after it has happened yet.
static void between()
{
    const int count = 1 << 20;
    int *device, *host;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, count * sizeof(int)));
    CHECK(cudaMallocHost(&host, count * sizeof(int)));
    memset(host, 0, count * sizeof(int));
    for (int round = 1; round <= 10; round++) {
        Look one = {host, count, round, {-1}}, two = {host, count, round, {-1}};
        fill<<<count / 256, 256, 0, stream>>>(device, round, count);
        CHECK(cudaMemcpyAsync(host, device, count * sizeof(int), cudaMemcpyDefault, stream));
        CHECK(cudaLaunchHostFunc(stream, look, &one));
        CHECK(cudaLaunchHostFunc(stream, look, &two));
        CHECK(cudaMemsetAsync(device, 0, count * sizeof(int), stream));
        CHECK(cudaMemcpyAsync(host, device, count * sizeof(int), cudaMemcpyDefault, stream));
        CHECK(cudaStreamSynchronize(stream));
        if (one.wrong || two.wrong)
            fail("round %d: the functions saw %d and %d wrong elements", round, one.wrong.load(),
                 two.wrong.load());
    }
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
}

// ---- waiting

static void waits()
{
    std::atomic<int> gate(0);
    cudaStream_t stream, other;
    cudaEvent_t event;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaLaunchHostFunc(stream, hold, &gate));
    CHECK(cudaEventRecord(event, stream));
    EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
    EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    // Another stream goes on meanwhile.
    int *data, value = 0;
    CHECK(cudaMalloc(&data, sizeof *data));
    fill<<<1, 32, 0, other>>>(data, 7, 1);
    CHECK(cudaMemcpyAsync(&value, data, sizeof value, cudaMemcpyDeviceToHost, other));
    CHECK(cudaStreamSynchronize(other));
    if (value != 7)
        fail("the other stream computed %d", value);
    EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
    // ... and this one waits for the event behind the function.
    CHECK(cudaStreamWaitEvent(other, event, 0));
    EXPECT_ERROR(cudaStreamQuery(other), cudaErrorNotReady);
    gate = 1;
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamSynchronize(other));
    CHECK(cudaStreamQuery(stream));
    CHECK(cudaEventQuery(event));
    CHECK(cudaFree(data));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
}

// ---- many

static void CUDART_CB count(void *at)
{
    ++*(std::atomic<int> *)at;
}

// All of them are under way at once: the first holds its stream, and the others wait for it.
static void many(int functions)
{
    const int streams = 8;
    std::atomic<int> gate(0), called(0);
    cudaStream_t stream[streams];
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < streams; i++)
        CHECK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
    CHECK(cudaLaunchHostFunc(stream[0], hold, &gate));
    CHECK(cudaEventRecord(event, stream[0]));
    for (int i = 1; i < streams; i++)
        CHECK(cudaStreamWaitEvent(stream[i], event, 0));
    for (int i = 0; i < functions; i++)
        CHECK(cudaLaunchHostFunc(stream[i % streams], count, &called));
    if (called != 0)
        fail("%d functions did not wait", called.load());
    gate = 1;
    CHECK(cudaDeviceSynchronize());
    if (called != functions)
        fail("%d of %d functions were called", called.load(), functions);
    for (int i = 0; i < streams; i++)
        CHECK(cudaStreamDestroy(stream[i]));
    CHECK(cudaEventDestroy(event));
}

// A stream that is destroyed still calls what is in it.
static void destroyed()
{
    std::atomic<int> gate(0), called(0);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaLaunchHostFunc(stream, hold, &gate));
    CHECK(cudaLaunchHostFunc(stream, count, &called));
    CHECK(cudaStreamDestroy(stream));
    gate = 1;
    CHECK(cudaDeviceSynchronize());
    if (called != 1)
        fail("a function of a destroyed stream was called %d times", called.load());
}

static void threads()
{
    std::thread thread[4];
    for (auto &one : thread)
        one = std::thread([] {
            cudaStream_t stream;
            CHECK(cudaStreamCreate(&stream));
            order(stream, "a stream of a thread");
            order(cudaStreamPerThread, "the thread's own stream");
            CHECK(cudaStreamDestroy(stream));
        });
    for (auto &one : thread)
        one.join();
}

// ---- what they may not do

struct Calls {
    cudaError_t malloc, synchronize;
};

static void CUDART_CB call(cudaStream_t stream, cudaError_t, void *at)
{
    void *memory;
    ((Calls *)at)->malloc = cudaMalloc(&memory, 256);
    ((Calls *)at)->synchronize = cudaStreamSynchronize(stream);
}

static void not_permitted()
{
    Calls got = {cudaSuccess, cudaSuccess};
    CHECK(cudaStreamAddCallback(0, call, &got, 0));
    CHECK(cudaStreamSynchronize(0));
    EXPECT_ERROR(got.malloc, cudaErrorNotPermitted);
    EXPECT_ERROR(got.synchronize, cudaErrorNotPermitted);
    (void)cudaGetLastError();
    EXPECT_ERROR(cudaStreamAddCallback(0, call, &got, 1), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

// ---- after an error

static std::atomic<int> told_count(0), told_wrong(0);

static void CUDART_CB told(cudaStream_t, cudaError_t status, void *number)
{
    told_wrong += status != cudaErrorIllegalAddress || told_count != (int)(size_t)number;
    ++told_count;
}

static void error()
{
    std::atomic<int> gate(0), called(0);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaLaunchHostFunc(stream, hold, &gate));
    outside<<<1, 1, 0, stream>>>();
    const int callbacks = 700;
    for (int i = 0; i < callbacks; i++) {
        CHECK(cudaStreamAddCallback(stream, told, (void *)(size_t)i, 0));
        CHECK(cudaLaunchHostFunc(stream, count, &called));
    }
    gate = 1;
    EXPECT_ERROR(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    wait_for(told_count, callbacks, "callbacks after an error");
    if (called != 0)
        fail("%d host functions were called after an error", called.load());
    if (told_wrong != 0)
        fail("%d callbacks were out of order or told another error", told_wrong.load());
    EXPECT_ERROR(cudaLaunchHostFunc(stream, count, &called), cudaErrorIllegalAddress);
}

int main(int argc, char **argv)
{
    int functions = argc > 1 ? atoi(argv[1]) : 5000;
    cudaStream_t stream, other;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    order(0, "the default stream");
    order(cudaStreamPerThread, "the own stream");
    order(stream, "a blocking stream");
    order(other, "a stream");
    between();
    waits();
    many(functions);
    destroyed();
    threads();
    not_permitted();
    error();
    return passed();
}
