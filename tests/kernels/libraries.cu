// SPDX-License-Identifier: Apache-2.0
// Code that comes and goes while it is used: a module that is unloaded under running kernels;
// libraries that outlive contexts, in several contexts and devices, and asked by several threads at
// once; what is left afterwards.
// semantics S33, S34
#include <atomic>
#include <thread>
#include <vector>

#include "check_driver.h"

static const char image[] = ".version 7.5\n"
                            ".target sm_75\n"
                            ".address_size 64\n"
                            ".visible .global .align 4 .u32 number = 42;\n"
                            ".visible .entry wait_and_add(.param .u64 flag, .param .u64 sum)\n"
                            "{\n"
                            "    .reg .pred %p1; .reg .b64 %rd<6>; .reg .b32 %r<4>;\n"
                            "    ld.param.u64 %rd1, [flag];\n"
                            "    cvta.to.global.u64 %rd2, %rd1;\n"
                            "    ld.param.u64 %rd3, [sum];\n"
                            "    cvta.to.global.u64 %rd4, %rd3;\n"
                            "again:\n"
                            "    ld.volatile.global.u32 %r1, [%rd2];\n"
                            "    setp.eq.u32 %p1, %r1, 0;\n"
                            "    @%p1 bra again;\n"
                            "    ld.global.u32 %r2, [number];\n"
                            "    atom.global.add.u32 %r3, [%rd4], %r2;\n"
                            "    ret;\n"
                            "}\n"
                            ".visible .entry other(.param .u32 a, .param .u64 b)\n"
                            "{\n"
                            "    ret;\n"
                            "}\n";

struct Sum { // a flag that kernels wait for, and what they add to
    CUdeviceptr flag, sum;
    CUstream work, side;
};

static Sum make_sum(unsigned flag)
{
    Sum s;
    CHECK_DRIVER(cuMemAlloc(&s.flag, 4));
    CHECK_DRIVER(cuMemAlloc(&s.sum, 4));
    CHECK_DRIVER(cuMemsetD32(s.flag, flag, 1));
    CHECK_DRIVER(cuMemsetD32(s.sum, 0, 1));
    CHECK_DRIVER(cuStreamCreate(&s.work, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuStreamCreate(&s.side, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuStreamSynchronize(nullptr));
    return s;
}

static CUresult launch(CUfunction function, Sum &s)
{
    void *parameters[] = {&s.flag, &s.sum};
    return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, s.work, parameters, nullptr);
}

// Unloading may wait for the kernels, so they are let go before, while most have not begun.
static void let_go(Sum &s)
{
    unsigned one = 1;
    CHECK_DRIVER(cuMemcpyHtoDAsync(s.flag, &one, sizeof one, s.side));
}

static unsigned finish(Sum &s)
{
    unsigned got = 0;
    CHECK_DRIVER(cuStreamSynchronize(s.work));
    CHECK_DRIVER(cuMemcpyDtoH(&got, s.sum, sizeof got));
    CHECK_DRIVER(cuStreamDestroy(s.work));
    CHECK_DRIVER(cuStreamDestroy(s.side));
    CHECK_DRIVER(cuMemFree(s.flag));
    CHECK_DRIVER(cuMemFree(s.sum));
    return got;
}

static void unload_under_work()
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr number;
    CHECK_DRIVER(cuModuleLoadData(&module, image));
    CHECK_DRIVER(cuModuleGetFunction(&function, module, "wait_and_add"));
    CHECK_DRIVER(cuModuleGetGlobal(&number, nullptr, module, "number"));
    Sum s = make_sum(0);
    for (int i = 0; i < 5; i++) // one runs, the others are queued behind it
        CHECK_DRIVER(launch(function, s));
    let_go(s);
    CHECK_DRIVER(cuModuleUnload(module));
    EXPECT_DRIVER(launch(function, s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuModuleGetFunction(&function, module, "other"), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuMemsetD32(number, 1, 1), CUDA_ERROR_INVALID_VALUE);
    unsigned got = finish(s);
    if (got != 5 * 42)
        fail("kernels of a module that was unloaded add %u, not %u", got, 5 * 42);
    for (int i = 0; i < 200; i++) { // and it does not cost memory
        CHECK_DRIVER(cuModuleLoadData(&module, image));
        CHECK_DRIVER(cuModuleUnload(module));
    }
}

static unsigned run(CUkernel kernel)
{
    Sum s = make_sum(1);
    CHECK_DRIVER(launch((CUfunction)kernel, s));
    return finish(s);
}

static void set_number(CUlibrary library, unsigned value)
{
    CUdeviceptr number;
    size_t bytes = 0;
    CHECK_DRIVER(cuLibraryGetGlobal(&number, &bytes, library, "number"));
    if (bytes != 4)
        fail("a variable of 4 bytes has %zu", bytes);
    CHECK_DRIVER(cuMemcpyHtoD(number, &value, sizeof value));
}

static void expect_number(const char *where, CUkernel kernel, unsigned due)
{
    unsigned got = run(kernel);
    if (got != due)
        fail("%s: the kernel adds %u, not %u", where, got, due);
}

static void facts(CUlibrary library, CUkernel kernel)
{
    CUlibrary owner;
    const char *name = nullptr;
    size_t offset = 99, size = 99;
    unsigned count = 0;
    CUkernel all[2];
    CUdeviceptr address;
    CUkernel other;
    CHECK_DRIVER(cuLibraryGetKernelCount(&count, library));
    CHECK_DRIVER(cuLibraryEnumerateKernels(all, 2, library));
    if (count != 2 || all[0] == all[1] || (all[0] != kernel && all[1] != kernel))
        fail("%u kernels are listed, or not the right ones", count);
    CHECK_DRIVER(cuKernelGetLibrary(&owner, kernel));
    CHECK_DRIVER(cuKernelGetName(&name, kernel));
    if (owner != library || strcmp(name, "wait_and_add") != 0)
        fail("the kernel is %s, of another library", name);
    CHECK_DRIVER(cuLibraryGetKernel(&other, library, "other"));
    CHECK_DRIVER(cuKernelGetParamInfo(other, 1, &offset, &size));
    if (offset != 8 || size != 8)
        fail("parameter 1 is at %zu, %zu bytes", offset, size);
    EXPECT_DRIVER(cuKernelGetParamInfo(other, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLibraryGetKernel(&other, library, "none"), CUDA_ERROR_NOT_FOUND);
    EXPECT_DRIVER(cuLibraryGetGlobal(&address, &size, library, "none"), CUDA_ERROR_NOT_FOUND);
    EXPECT_DRIVER(cuLibraryGetManaged(&address, &size, library, "number"), CUDA_ERROR_NOT_FOUND);
}

static void functions_of_a_kernel(CUkernel kernel, CUcontext here, CUcontext there)
{
    CUfunction first, again, other;
    CUmodule module;
    const char *name;
    int value = 0;
    CUfunctionLoadingState state;
    CHECK_DRIVER(cuKernelGetFunction(&first, kernel));
    CHECK_DRIVER(cuKernelGetFunction(&again, kernel));
    CHECK_DRIVER(cuCtxSetCurrent(there));
    CHECK_DRIVER(cuKernelGetFunction(&other, kernel));
    CHECK_DRIVER(cuCtxSetCurrent(here));
    if (first != again || first == other)
        fail("a kernel has one function in each context");
    CHECK_DRIVER(cuFuncGetName(&name, first));
    CHECK_DRIVER(cuFuncGetModule(&module, first));
    if (strcmp(name, "wait_and_add") != 0)
        fail("the function is called %s", name);
    EXPECT_DRIVER(cuModuleUnload(module), CUDA_ERROR_NOT_PERMITTED);
    CHECK_DRIVER(cuFuncLoad(first));
    CHECK_DRIVER(cuFuncIsLoaded(&state, first));
    if (state != CU_FUNCTION_LOADING_STATE_LOADED)
        fail("a function that was loaded is not");
    // Settings belong to the kernel on a device; the function shows them.
    CHECK_DRIVER(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000,
                                      kernel, 0));
    CHECK_DRIVER(
        cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    if (value != 60000)
        fail("the kernel forgets an attribute: %d", value);
    CHECK_DRIVER(
        cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, first));
    if (value != 60000)
        fail("the function does not show its kernel's attribute: %d", value);
}

static void libraries()
{
    CUlibrary library;
    CUkernel kernel;
    CUcontext primary[2], explicit_one;
    std::vector<char> bytes(image, image + sizeof image);
    CHECK_DRIVER(cuLibraryLoadData(&library, bytes.data(), nullptr, nullptr, 0, nullptr, nullptr,
                                   0));
    std::fill(bytes.begin(), bytes.end(), 'x'); // a copy was kept
    for (int d = 0; d < 2; d++)
        CHECK_DRIVER(cuDevicePrimaryCtxRetain(&primary[d], d));
    CHECK_DRIVER(cuCtxSetCurrent(primary[0]));
    CHECK_DRIVER(cuLibraryGetKernel(&kernel, library, "wait_and_add"));
    facts(library, kernel);
    expect_number("device 0", kernel, 42);
    set_number(library, 7);
    expect_number("device 0, changed", kernel, 7);
    CHECK_DRIVER(cuCtxSetCurrent(primary[1]));
    expect_number("device 1", kernel, 42);
    set_number(library, 9);
    explicit_one = create_context(0);
    expect_number("an explicit context", kernel, 42);
    CHECK_DRIVER(cuCtxSetCurrent(primary[0]));
    functions_of_a_kernel(kernel, primary[0], explicit_one);
    CHECK_DRIVER(cuCtxDestroy(explicit_one));
    CHECK_DRIVER(cuCtxSetCurrent(primary[0]));
    expect_number("device 0 again", kernel, 7);

    CHECK_DRIVER(cuDevicePrimaryCtxReset(0));
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&primary[0], 0));
    CHECK_DRIVER(cuCtxSetCurrent(primary[0]));
    expect_number("device 0 after a reset", kernel, 42);
    CHECK_DRIVER(cuCtxSetCurrent(primary[1]));
    expect_number("device 1 is not concerned", kernel, 9);

    Sum s = make_sum(0);
    CHECK_DRIVER(launch((CUfunction)kernel, s));
    let_go(s);
    CHECK_DRIVER(cuLibraryUnload(library));
    EXPECT_DRIVER(launch((CUfunction)kernel, s), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_DRIVER(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    if (finish(s) != 9)
        fail("a kernel does not survive its library");
    for (int d = 0; d < 2; d++)
        CHECK_DRIVER(cuDevicePrimaryCtxRelease(d));
}

// Each kernel has one handle, whoever asks first.
static void several_threads(CUcontext context)
{
    const int threads = 4;
    for (int round = 0; round < 20; round++) {
        CUlibrary library;
        CUkernel all[threads][2] = {}, by_name[threads] = {};
        std::vector<std::thread> running;
        std::atomic<int> started{0};
        CHECK_DRIVER(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
        for (int t = 0; t < threads; t++)
            running.emplace_back([&, t] {
                CHECK_DRIVER(cuCtxSetCurrent(context));
                started++;
                while (started < threads) {
                }
                CHECK_DRIVER(cuLibraryEnumerateKernels(all[t], 2, library));
                CHECK_DRIVER(cuLibraryGetKernel(&by_name[t], library, "other"));
            });
        for (auto &thread : running)
            thread.join();
        for (int t = 0; t < threads; t++) {
            if (all[t][0] != all[0][0] || all[t][1] != all[0][1] || by_name[t] != by_name[0])
                fail("round %d: threads get different handles for a kernel", round);
        }
        CHECK_DRIVER(cuLibraryUnload(library));
    }
}

int main()
{
    CHECK_DRIVER(cuInit(0));
    CUcontext context = create_context(0);
    unload_under_work();
    several_threads(context);
    CHECK_DRIVER(cuCtxDestroy(context));
    libraries();
    return passed();
}
