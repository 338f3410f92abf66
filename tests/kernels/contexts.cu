// SPDX-License-Identifier: Apache-2.0
// Explicit contexts and the primary one of a device: what is current in which thread, what each has
// of its own, and what is left when one is destroyed.
// semantics S6, S12, S18, S29, S30, S31, S33, S34
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check_driver.h"

static const char ptx[] = ".version 7.5\n"
                          ".target sm_75\n"
                          ".address_size 64\n"
                          ".visible .global .align 4 .u32 counter = 100;\n"
                          ".visible .entry count(.param .u64 out)\n"
                          "{\n"
                          "    .reg .b64 %rd<3>;\n"
                          "    .reg .b32 %r<3>;\n"
                          "    ld.param.u64 %rd1, [out];\n"
                          "    atom.global.add.u32 %r1, [counter], 1;\n"
                          "    add.u32 %r2, %r1, 1;\n"
                          "    st.global.u32 [%rd1], %r2;\n"
                          "    ret;\n"
                          "}\n";

static std::atomic<int> gate(0);

static void CUDA_CB hold(void *)
{
    while (gate.load() == 0)
        usleep(1000);
}

static void open_later(int ms)
{
    std::thread([ms] {
        usleep(ms * 1000);
        gate = 1;
    }).detach();
}

static void expect_current(CUcontext context)
{
    CUcontext current = nullptr;
    CHECK_DRIVER(cuCtxGetCurrent(&current));
    if (current != context)
        fail("%p is current, %p is right", (void *)current, (void *)context);
}

// Counts once in the current context's copy of the variable.
static unsigned count_here(CUfunction function, CUstream stream)
{
    CUdeviceptr out;
    unsigned got = 0;
    CHECK_DRIVER(cuMemAlloc(&out, sizeof got));
    void *parameters[] = {&out};
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    CHECK_DRIVER(cuMemcpyDtoHAsync(&got, out, sizeof got, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK_DRIVER(cuMemFree(out));
    return got;
}

static CUfunction load(CUmodule *module)
{
    CUfunction function;
    CHECK_DRIVER(cuModuleLoadData(module, ptx));
    CHECK_DRIVER(cuModuleGetFunction(&function, *module, "count"));
    return function;
}

// Each thread has a stack; what is made is pushed.
static void stacks()
{
    CUcontext popped, primary, a = create_context(0), b = create_context(0);
    expect_current(b);
    CHECK_DRIVER(cuCtxPopCurrent(&popped));
    expect_current(a);
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
    CHECK_DRIVER(cuCtxPushCurrent(primary));
    CHECK_DRIVER(cuCtxPushCurrent(a));
    CHECK_DRIVER(cuCtxSetCurrent(b)); // in the place of the one on top
    expect_current(b);
    std::thread([b] {
        CUdeviceptr data;
        CUcontext none;
        expect_current(nullptr);
        EXPECT_DRIVER(cuMemAlloc(&data, 4), CUDA_ERROR_INVALID_CONTEXT);
        EXPECT_DRIVER(cuCtxPopCurrent(&none), CUDA_ERROR_INVALID_CONTEXT);
        CHECK_DRIVER(cuCtxSetCurrent(b));
        expect_current(b);
        CHECK_DRIVER(cuMemAlloc(&data, 4));
        CHECK_DRIVER(cuMemFree(data));
        CHECK_DRIVER(cuCtxSetCurrent(nullptr));
        expect_current(nullptr);
    }).join();
    CHECK_DRIVER(cuCtxPopCurrent(&popped));
    expect_current(primary);
    CHECK_DRIVER(cuCtxPopCurrent(&popped));
    expect_current(a);
    CHECK_DRIVER(cuCtxDestroy(b)); // not current: nothing is popped
    expect_current(a);
    CHECK_DRIVER(cuCtxDestroy(a)); // popped, as it is current
    expect_current(nullptr);
    CHECK_DRIVER(cuDevicePrimaryCtxRelease(0));
    EXPECT_DRIVER(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_DRIVER(cuCtxSetCurrent(a), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_DRIVER(cuCtxDestroy(a), CUDA_ERROR_INVALID_CONTEXT);
}

// Settings, variables, streams and events belong to one context.
static void apart()
{
    CUcontext primary, context[3];
    unsigned flags = 9;
    size_t before[3], limit;
    CUmodule module;
    CUfunction function[3];
    CUevent event;
    CUstream stream;
    context[0] = create_context(0), context[1] = create_context(0);
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
    context[2] = primary;
    for (int i = 0; i < 3; i++) {
        CHECK_DRIVER(cuCtxSetCurrent(context[i]));
        CHECK_DRIVER(cuCtxGetLimit(&before[i], CU_LIMIT_STACK_SIZE));
    }
    CHECK_DRIVER(cuCtxSetCurrent(context[0]));
    CHECK_DRIVER(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, before[0] + 1024));
    CHECK_DRIVER(cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC));
    for (int i = 0; i < 3; i++) {
        CHECK_DRIVER(cuCtxSetCurrent(context[i]));
        CHECK_DRIVER(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
        CHECK_DRIVER(cuCtxGetFlags(&flags));
        if (limit != before[i] + (i == 0 ? 1024 : 0))
            fail("context %d has stacks of %zu bytes", i, limit);
        if ((flags & CU_CTX_SCHED_MASK) != (i == 0 ? CU_CTX_SCHED_BLOCKING_SYNC : 0))
            fail("context %d has flags %u", i, flags);
        function[i] = load(&module);
    }
    for (int round = 1; round <= 3; round++)
        for (int i = 0; i < 3; i++) {
            CHECK_DRIVER(cuCtxSetCurrent(context[i]));
            unsigned got = count_here(function[i], nullptr);
            if (got != 100u + round)
                fail("context %d has counted to %u in round %d", i, got, round);
        }
    CHECK_DRIVER(cuCtxSetCurrent(context[0]));
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_DRIVER(cuCtxSetCurrent(context[1]));
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    EXPECT_DRIVER(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuLaunchKernel(function[0], 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
                  CUDA_ERROR_INVALID_HANDLE);
    // Its own work only is what a context waits for.
    gate = 0;
    CHECK_DRIVER(cuLaunchHostFunc(stream, hold, nullptr));
    CHECK_DRIVER(cuCtxSetCurrent(context[0]));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuCtxSetCurrent(context[1]));
    open_later(50);
    CHECK_DRIVER(cuCtxSynchronize());
    if (gate == 0)
        fail("a context has not waited for its work");
    CHECK_DRIVER(cuCtxDestroy(context[1]));
    EXPECT_DRIVER(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    CHECK_DRIVER(cuCtxDestroy(context[0]));
    CHECK_DRIVER(cuDevicePrimaryCtxRelease(0));
}

static void many_threads()
{
    const int threads = 8, rounds = 20;
    CUcontext primary, context[3];
    CUmodule module;
    CUfunction function[3];
    std::atomic<unsigned> most[3];
    context[0] = create_context(0), context[1] = create_context(0);
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
    context[2] = primary;
    for (int i = 0; i < 3; i++) {
        CHECK_DRIVER(cuCtxSetCurrent(context[i]));
        function[i] = load(&module);
        most[i] = 0;
    }
    std::vector<std::thread> all;
    for (int id = 0; id < threads; id++)
        all.emplace_back([&, id] {
            CUstream stream[3];
            CUcontext popped;
            for (int i = 0; i < 3; i++) {
                CHECK_DRIVER(cuCtxPushCurrent(context[i]));
                CHECK_DRIVER(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
            }
            for (int round = 0; round < rounds; round++) {
                int i = (id + round) % 3;
                CHECK_DRIVER(cuCtxPushCurrent(context[i]));
                unsigned got = count_here(function[i], stream[i]), before = most[i];
                while (before < got && !most[i].compare_exchange_weak(before, got)) {
                }
                CHECK_DRIVER(cuCtxPopCurrent(&popped));
            }
            for (int i = 2; i >= 0; i--) {
                expect_current(context[i]);
                CHECK_DRIVER(cuStreamDestroy(stream[i]));
                CHECK_DRIVER(cuCtxPopCurrent(&popped));
            }
        });
    for (std::thread &thread : all)
        thread.join();
    unsigned sum = most[0] + most[1] + most[2];
    if (sum != 300u + threads * rounds)
        fail("together %u, %u is right", sum, 300u + threads * rounds);
    CHECK_DRIVER(cuCtxDestroy(context[0]));
    CHECK_DRIVER(cuCtxDestroy(context[1]));
    CHECK_DRIVER(cuDevicePrimaryCtxRelease(0));
}

// Destroyed while it is current elsewhere: it stays there, and is of no use.
static void destroyed_elsewhere()
{
    const int threads = 4;
    std::atomic<int> ready(0), gone(0);
    CUcontext context = create_context(0), other = create_context(0);
    std::vector<std::thread> all;
    for (int id = 0; id < threads; id++)
        all.emplace_back([&] {
            CUdeviceptr data;
            CUcontext popped;
            CHECK_DRIVER(cuCtxSetCurrent(other));
            CHECK_DRIVER(cuCtxPushCurrent(context));
            CHECK_DRIVER(cuMemAlloc(&data, 1000));
            ++ready;
            while (gone == 0)
                std::this_thread::yield();
            expect_current(context);
            EXPECT_DRIVER(cuMemAlloc(&data, 1000), CUDA_ERROR_CONTEXT_IS_DESTROYED);
            EXPECT_DRIVER(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
            CHECK_DRIVER(cuCtxPopCurrent(&popped));
            expect_current(other);
            CHECK_DRIVER(cuMemAlloc(&data, 1000));
            CHECK_DRIVER(cuMemFree(data));
        });
    while (ready != threads)
        std::this_thread::yield();
    CHECK_DRIVER(cuCtxDestroy(context));
    gone = 1;
    for (std::thread &thread : all)
        thread.join();
    CHECK_DRIVER(cuCtxDestroy(other));
}

// The end of an object waits for the work that needs it.
static void ended_with_work()
{
    CUmodule module;
    CUdeviceptr out;
    CUstream stream;
    unsigned got = 0;
    CUcontext context = create_context(0);
    CUfunction function = load(&module);
    CHECK_DRIVER(cuMemAlloc(&out, sizeof got));
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    void *parameters[] = {&out};
    gate = 0;
    CHECK_DRIVER(cuLaunchHostFunc(stream, hold, nullptr));
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    open_later(50);
    CHECK_DRIVER(cuModuleUnload(module));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK_DRIVER(cuMemcpyDtoH(&got, out, sizeof got));
    if (got != 101)
        fail("a kernel whose module was unloaded meanwhile has counted to %u", got);
    EXPECT_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr),
                  CUDA_ERROR_INVALID_HANDLE);
    gate = 0;
    CHECK_DRIVER(cuLaunchHostFunc(stream, hold, nullptr));
    open_later(50);
    CHECK_DRIVER(cuCtxDestroy(context));
    if (gate == 0)
        fail("a context has ended before its work");
}

// A library needs no context: it is loaded where it is used, from a copy of the image.
static void library()
{
    char image[sizeof ptx];
    CUlibrary library;
    CUkernel kernel;
    memcpy(image, ptx, sizeof image);
    CHECK_DRIVER(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    memset(image, 'x', sizeof image);
    CHECK_DRIVER(cuLibraryGetKernel(&kernel, library, "count"));
    for (int cycle = 0; cycle < 2; cycle++) {
        CUcontext context = create_context(0);
        for (unsigned i = 1; i <= 2; i++) {
            unsigned got = count_here((CUfunction)kernel, nullptr);
            if (got != 100 + i)
                fail("the library's kernel has counted to %u", got);
        }
        CHECK_DRIVER(cuCtxDestroy(context));
    }
    CHECK_DRIVER(cuLibraryUnload(library));
}

int main()
{
    CHECK_DRIVER(cuInit(0));
    stacks();
    library();
    apart();
    many_threads();
    destroyed_elsewhere();
    ended_with_work();
    return passed();
}
