// SPDX-License-Identifier: Apache-2.0
// semantics S26. Which errors last. An error of a call leaves the context as good as it was; an
// execution fault is the answer of every further call, as cuda.h says ("any further CUDA work will
// return the same error"), on all devices. Each fault has a process of its own.
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "check_driver.h"

__global__ void add(int *p, int n) { atomicAdd(p, n); }
__global__ void __launch_bounds__(64) small(int *p) { *p = 1; }
__global__ void store(int *p, long long at) { *(int *)((char *)p + at) = 1; }
__global__ void trapping() { __trap(); }
__global__ void asserting(int *p);
__device__ __noinline__ int deeper(volatile int *p, int n)
{
    return *p == -1 ? n : deeper(p, n + 1) + *p;
}
__global__ void recursing(int *p) { *p = deeper(p, 0); }
__global__ void calling(void (*function)(int *), int *p) { function(p); }
__global__ void spinning(volatile int *p)
{
    while (*p == 0)
        ;
}

#undef NDEBUG
#include <cassert>
__global__ void asserting(int *p) { assert(p == nullptr); }

static CUcontext context;
static CUdevice device;
static int *memory;

static const char bad_ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                              ".entry k() { nonsense; }";
static const char newer_ptx[] = ".version 9.0\n.target sm_121\n.address_size 64\n"
                                ".entry k() { ret; }";

static CUresult runtime(cudaError_t error)
{
    (void)cudaGetLastError();
    return (CUresult)error;
}

static CUresult launch(const void *kernel, unsigned grid, unsigned block, size_t shared)
{
    void *parameters[] = {&memory};
    return runtime(cudaLaunchKernel(kernel, dim3(grid), dim3(block), parameters, shared, 0));
}

static CUresult cooperative()
{
    void *parameters[] = {&memory};
    return runtime(cudaLaunchCooperativeKernel((void *)small, dim3(1 << 20), dim3(64), parameters));
}

static CUresult busy()
{
    cudaStream_t stream;
    int one = 1;
    CHECK(cudaMemset(memory, 0, 4));
    CHECK(cudaDeviceSynchronize()); // the other stream does not wait for the memset
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    spinning<<<1, 1>>>(memory);
    CUresult result = cuStreamQuery(CU_STREAM_LEGACY);
    CHECK(cudaMemcpyAsync(memory, &one, 4, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamDestroy(stream));
    return result;
}

static CUresult registered_twice()
{
    static char page[2 * 4096];
    CHECK(cudaHostRegister(page, sizeof page, 0));
    CUresult result = cuMemHostRegister(page, sizeof page, 0);
    CHECK(cudaHostUnregister(page));
    return result;
}

// A context that another thread destroys stays current.
static CUresult gone()
{
    CUcontext other = create_context(device);
    CUresult result = CUDA_SUCCESS;
    CHECK_DRIVER(cuCtxSetCurrent(context));
    std::thread([&] {
        CUdeviceptr pointer;
        CHECK_DRIVER(cuCtxSetCurrent(other));
        std::thread([&] { CHECK_DRIVER(cuCtxDestroy(other)); }).join();
        result = cuMemAlloc(&pointer, 4);
    }).join();
    return result;
}

static CUresult without()
{
    CUdeviceptr pointer;
    CHECK_DRIVER(cuCtxSetCurrent(nullptr));
    CUresult result = cuMemAlloc(&pointer, 4);
    CHECK_DRIVER(cuCtxSetCurrent(context));
    return result;
}

static CUresult no_kernel()
{
    cudaFuncAttributes attributes;
    return runtime(cudaFuncGetAttributes(&attributes, (void *)busy));
}

struct Error {
    int line;
    CUresult code;
    CUresult (*provoke)();
};

static void expect(const Error &error, CUresult code)
{
    CUresult result = error.provoke();
    if (result != code)
        fail("line %d: %s (%d) where %s is due", error.line, driver_error_name(result),
             (int)result, driver_error_name(code));
}

static CUmodule module;
static CUdeviceptr pointer;
static CUfunction function;

static const Error passing[] = {
    {__LINE__, CUDA_ERROR_INVALID_VALUE, [] { return cuMemAlloc(nullptr, 4); }},
    {__LINE__, CUDA_ERROR_INVALID_VALUE, [] { return cuMemcpyDtoD((CUdeviceptr)memory, 64, 4); }},
    {__LINE__, CUDA_ERROR_OUT_OF_MEMORY, [] { return cuMemAlloc(&pointer, 1ull << 45); }},
    {__LINE__, CUDA_ERROR_INVALID_VALUE, [] { return launch((void *)small, 0, 1, 0); }},
    {__LINE__, CUDA_ERROR_INVALID_HANDLE, no_kernel},
    {__LINE__, CUDA_ERROR_INVALID_IMAGE, [] { return cuModuleLoadData(&module, "\x7f" "ELF"); }},
    {__LINE__, CUDA_ERROR_INVALID_PTX, [] { return cuModuleLoadData(&module, bad_ptx); }},
    {__LINE__, CUDA_ERROR_NO_BINARY_FOR_GPU, [] { return cuModuleLoadData(&module, newer_ptx); }},
    {__LINE__, CUDA_ERROR_FILE_NOT_FOUND, [] { return cuModuleLoad(&module, "/no such file"); }},
    {__LINE__, CUDA_ERROR_INVALID_CONTEXT, without},
    {__LINE__, CUDA_ERROR_CONTEXT_IS_DESTROYED, gone},
    {__LINE__, CUDA_ERROR_INVALID_HANDLE, [] { return cuStreamSynchronize((CUstream)0x1230); }},
    {__LINE__, CUDA_ERROR_NOT_READY, busy},
    {__LINE__, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, [] { return launch((void *)small, 1, 128, 0); }},
    {__LINE__, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, registered_twice},
    {__LINE__, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, [] { return cuMemHostUnregister(&context); }},
    {__LINE__, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cooperative},
};

// The context does what it should: a kernel runs and its result comes back.
static void expect_good()
{
    int value = 40;
    CHECK_DRIVER(cuMemcpyHtoD((CUdeviceptr)memory, &value, sizeof value));
    add<<<1, 2>>>(memory, 1);
    CHECK(cudaGetLastError());
    CHECK_DRIVER(cuMemcpyDtoH(&value, (CUdeviceptr)memory, sizeof value));
    CHECK_DRIVER(cuCtxSynchronize());
    if (value != 42)
        fail("the kernel's result is %d", value);
}

static CUresult store_at(long long at)
{
    store<<<1, 1>>>(memory, at);
    return runtime(cudaGetLastError());
}

static const Error lasting[] = {
    {__LINE__, CUDA_ERROR_ILLEGAL_ADDRESS, [] { return store_at(1ll << 40); }},
    {__LINE__, CUDA_ERROR_MISALIGNED_ADDRESS, [] { return store_at(2); }},
    {__LINE__, CUDA_ERROR_ASSERT, [] { return launch((void *)asserting, 1, 1, 0); }},
    {__LINE__, CUDA_ERROR_HARDWARE_STACK_ERROR, [] { return launch((void *)recursing, 1, 1, 0); }},
    {__LINE__, CUDA_ERROR_INVALID_PC, [] {
         calling<<<1, 1>>>((void (*)(int *))memory, memory);
         return runtime(cudaGetLastError());
     }},
    {__LINE__, CUDA_ERROR_LAUNCH_FAILED, [] { return launch((void *)trapping, 3, 64, 0); }},
};

// Calls that any program may try then, each twice.
static const Error further[] = {
    {__LINE__, CUDA_SUCCESS, [] { return cuCtxSynchronize(); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuMemAlloc(&pointer, 64); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuMemFree((CUdeviceptr)memory); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuMemsetD8((CUdeviceptr)memory, 0, 4); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuMemcpyHtoD((CUdeviceptr)memory, &device, 4); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuMemcpyDtoH(&device, (CUdeviceptr)memory, 4); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0); }},
    {__LINE__, CUDA_SUCCESS, [] { CUstream stream; return cuStreamCreate(&stream, 0); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuStreamQuery(CU_STREAM_LEGACY); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuStreamSynchronize(CU_STREAM_LEGACY); }},
    {__LINE__, CUDA_SUCCESS, [] { CUevent event; return cuEventCreate(&event, 0); }},
    {__LINE__, CUDA_SUCCESS, [] { return cuModuleLoadData(&module, bad_ptx); }},
    {__LINE__, CUDA_SUCCESS, [] { size_t a, b; return cuMemGetInfo(&a, &b); }},
};

// Nor are other devices: one that was in use before, or not.
static void expect_other_devices(CUresult code, bool used)
{
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        fail("this needs two devices");
    for (int round = 0; round < 2; round++) {
        // The CUDA runtime has an error of its own for whatever keeps a device's context from being
        // made.
        EXPECT_ERROR(cudaSetDevice(1), used ? cudaSuccess : cudaErrorDevicesUnavailable);
        EXPECT_ERROR(cudaMalloc(&memory, 64),
                     used ? (cudaError_t)code : cudaErrorDevicesUnavailable);
        CUcontext other;
        CUresult result = cuDevicePrimaryCtxRetain(&other, 1);
        if (result != code)
            fail("of device 1: %s where %s is due", driver_error_name(result),
                 driver_error_name(code));
    }
}

static int fail_with(const Error &error, bool used)
{
    if (used) {
        CHECK(cudaSetDevice(1));
        CHECK(cudaFree(nullptr));
        CHECK(cudaSetDevice(0));
    }
    CHECK(cudaGetFuncBySymbol((cudaFunction_t *)&function, (void *)trapping));
    CHECK_DRIVER(error.provoke());
    for (int round = 0; round < 2; round++) {
        for (const Error &call : further)
            expect(call, error.code);
    }
    // Starting anew is no way out either.
    EXPECT_ERROR(cudaDeviceReset(), (cudaError_t)error.code);
    EXPECT_ERROR(cudaMalloc(&memory, 64), (cudaError_t)error.code);
    expect_other_devices(error.code, used);
    return passed();
}

static void expect_child(const char *which, const char *used, CUresult code)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "lasting_errors", which, used, (char *)nullptr);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        fail("%s does not last: status %d", driver_error_name(code), status);
}

int main(int count, char **arguments)
{
    const int ways = sizeof lasting / sizeof lasting[0];
    if (count == 1) { // before there is a context, of which a child would have nothing
        for (int i = 0; i < ways; i++) {
            char which[16];
            snprintf(which, sizeof which, "%d", i);
            expect_child(which, i % 2 == 0 ? "device 1 used before" : nullptr, lasting[i].code);
        }
    }
    CHECK(cudaMalloc(&memory, 256));
    CHECK_DRIVER(cuCtxGetCurrent(&context));
    CHECK_DRIVER(cuCtxGetDevice(&device));
    if (count > 1)
        return fail_with(lasting[atoi(arguments[1]) % ways], count > 2);
    expect_good();
    for (const Error &error : passing) {
        expect(error, error.code);
        CHECK_DRIVER(cuCtxSynchronize());
        expect_good();
    }
    return passed();
}
