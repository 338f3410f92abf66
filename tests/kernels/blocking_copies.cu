// SPDX-License-Identifier: Apache-2.0
// Copies to the device that block, like cudaMemcpy: what came before is done when they return,
// faults and what kernels print included, and what comes behind is not waited for. Each case in a
// process of its own, whose first such copy it is: they fork before their first CUDA call.
// semantics S125
#include <sys/wait.h>
#include <unistd.h>

#include "check_driver.h"
#include "late.h"

static const size_t n = 100000;

// Work, and a copy that comes behind it.
static unsigned char *written(unsigned char value)
{
    unsigned char *device, head[100] = {};
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMemset(device, 0xff, n));
    CHECK(cudaDeviceSynchronize());
    write_late<<<1, 32>>>(device, n, value);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(device, head, sizeof head, cudaMemcpyHostToDevice));
    return device;
}

// As a stream of the current context, which waits for nothing of another one, finds it.
static void look(const unsigned char *device, CUstream stream, unsigned char value)
{
    static unsigned char seen[n];
    CHECK_DRIVER(cuMemcpyDtoHAsync(seen, (CUdeviceptr)device, n, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    for (size_t i = 0; i < n; i++)
        if (seen[i] != (i < 100 ? 0 : value))
            fail("a context made later has seen %d at byte %zu", seen[i], i);
}

static void second_context()
{
    CUcontext second;
    unsigned char *device = written(7);
    second = create_context(0);
    look(device, nullptr, 7);
    CHECK_DRIVER(cuCtxDestroy(second));
    look(device, nullptr, 7);
    for (unsigned char value = 20; value < 30; value++) {
        device = written(value);
        second = create_context(0);
        look(device, nullptr, value);
        CHECK_DRIVER(cuCtxDestroy(second));
    }
}

#if CUDA_VERSION >= 13000
static void green_context()
{
    CUdevResource whole;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUstream stream;
    unsigned char *device = written(8);
    CHECK_DRIVER(cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    CHECK_DRIVER(cuDevResourceGenerateDesc(&desc, &whole, 1));
    CHECK_DRIVER(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK_DRIVER(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    look(device, stream, 8);
    CHECK_DRIVER(cuStreamDestroy(stream));
    CHECK_DRIVER(cuGreenCtxDestroy(green));
}
#endif

__global__ void spin(volatile int *flag)
{
    while (*flag == 0)
        ;
}

__global__ void set(volatile int *flag)
{
    *flag = 1;
}

// The kernel behind the copy ends when the first stream that does not wait for it has been made.
static void endless_kernel()
{
    int *flag, zero = 0;
    cudaStream_t stream;
    CHECK(cudaMalloc(&flag, sizeof zero));
    set<<<1, 1>>>(flag); // so that it has been loaded
    CHECK(cudaMemcpy(flag, &zero, sizeof zero, cudaMemcpyHostToDevice));
    spin<<<1, 1>>>(flag);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    set<<<1, 1, 0, stream>>>(flag);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

// A blocking copy before a host function.
static void host_function()
{
    cudaStream_t stream;
    unsigned char *device = written(5);
    if (sem_init(&late_gate, 0, 0) != 0)
        fail("sem_init");
    hold_stream(0);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    look(device, stream, 5);
    sem_post(&late_gate);
    CHECK(cudaDeviceSynchronize());
}

// Memory that an earlier copy takes its bytes from may be changed.
static void source_of_another()
{
    const size_t bytes = 8 << 20;
    static unsigned char seen[bytes];
    unsigned char *device, *other, *pinned, head[100] = {};
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMalloc(&other, sizeof head));
    CHECK(cudaMallocHost(&pinned, bytes));
    memset(pinned, 1, bytes);
    write_late<<<1, 32>>>(device, n, 9);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, 0));
    CHECK(cudaMemcpy(other, head, sizeof head, cudaMemcpyHostToDevice));
    memset(pinned, 2, bytes);
    CHECK(cudaMemcpy(seen, device, bytes, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < bytes; i++)
        if (seen[i] != 1)
            fail("byte %zu is what was there later", i);
}

__global__ void leave(int *nowhere)
{
    *nowhere = 1;
}

static void fault()
{
    static unsigned char host[n];
    unsigned char *device;
    CHECK(cudaMalloc(&device, n));
    leave<<<1, 1>>>((int *)64);
    cudaError_t error = cudaMemcpy(device, host, n, cudaMemcpyHostToDevice);
    if (error != cudaErrorIllegalAddress)
        fail("a copy behind a fault: %s", cudaGetErrorName(error));
}

// A stream that has nothing to do gives back memory into which has been copied.
static void pool_memory()
{
    const size_t bytes = 256 << 20;
    static unsigned char host[4096];
    unsigned char *from, *to;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMallocAsync(&to, bytes, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++)
        CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, 0));
    CHECK(cudaMemcpy(to, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaFreeAsync(to, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaDeviceSynchronize());
}

static void apart(void (*kind)())
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        kind();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("a child has failed");
}

int main()
{
    apart(endless_kernel);
    apart(host_function);
    apart(source_of_another);
    apart(fault);
    apart(pool_memory);
    apart(second_context);
#if CUDA_VERSION >= 13000
    apart(green_context);
#endif
    return passed();
}
