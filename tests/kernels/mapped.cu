// SPDX-License-Identifier: Apache-2.0
// Pinned host memory that kernels use: allocated as mapped, allocated otherwise, and the program's
// own, registered. The kernel's results are the host's when it has waited.
// semantics S64
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void twice(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = 2 * from[i];
}

static void run(const char *what, const int *from, int *to, int *host_from, int *host_to, int n)
{
    for (int round = 1; round < 4; round++) {
        for (int i = 0; i < n; i++)
            host_from[i] = i * round;
        twice<<<(n + 255) / 256, 256>>>(from, to, n);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < n; i++) {
            if (host_to[i] != 2 * i * round)
                fail("%s, round %d: element %d is %d", what, round, i, host_to[i]);
        }
    }
}

static int *device_pointer(int *host)
{
    int *device;
    CHECK(cudaHostGetDevicePointer(&device, host, 0));
    return device;
}

static void mapped(int n)
{
    int *from, *to, *device, copy[4];
    CHECK(cudaHostAlloc(&from, n * sizeof(int), cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&to, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
    run("mapped", device_pointer(from), device_pointer(to), from, to, n);
    run("under one address", from, to, from, to, n);
    if (device_pointer(from + 10) != device_pointer(from) + 10)
        fail("a pointer into mapped memory is another for the device");
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, from + 3));
    if (attributes.type != cudaMemoryTypeHost || attributes.hostPointer != from + 3)
        fail("mapped memory is of type %d, at %p", attributes.type, attributes.hostPointer);
    // Copies of it are as those of other host memory, and come in order with kernels.
    CHECK(cudaMalloc(&device, n * sizeof(int)));
    from[0] = 21;
    CHECK(cudaMemcpyAsync(device, from, n * sizeof(int), cudaMemcpyHostToDevice));
    twice<<<(n + 255) / 256, 256>>>(device, from, n);
    CHECK(cudaMemcpyAsync(to, from, n * sizeof(int), cudaMemcpyHostToHost));
    CHECK(cudaMemcpyAsync(device, from, n * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(copy, device, sizeof copy, cudaMemcpyDeviceToHost));
    if (copy[0] != 42 || to[0] != 42 || from[0] != 42)
        fail("copied %d, %d and %d", copy[0], to[0], from[0]);
    CHECK(cudaMemcpy(from, device, n * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaMemset(to, 0, n * sizeof(int)));
    if (from[0] != 42 || from[1] != 6 || to[0] != 0)
        fail("copied back %d and %d, cleared to %d", from[0], from[1], to[0]);
    CHECK(cudaFree(device));
    if (cudaFree(from) != cudaErrorInvalidValue)
        fail("cudaFree takes pinned memory");
    (void)cudaGetLastError();
    CHECK(cudaFreeHost(from));
    CHECK(cudaFreeHost(to));
}

static void other(int n)
{
    int *pinned, *own = (int *)malloc(n * sizeof(int) + 100) + 3;
    CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
    CHECK(cudaHostRegister(own, n * sizeof(int), cudaHostRegisterMapped));
    run("registered", device_pointer(pinned), device_pointer(own), pinned, own, n);
    run("the other way", device_pointer(own), device_pointer(pinned), own, pinned, n);
    CHECK(cudaHostUnregister(own));
    CHECK(cudaFreeHost(pinned));
    if (own[1] != 3)
        fail("the program's own memory has changed to %d", own[1]);
    int *device;
    if (cudaHostGetDevicePointer(&device, own, 0) != cudaErrorInvalidValue)
        fail("memory that is not pinned has a device pointer");
    (void)cudaGetLastError();
    free(own - 3);
}

// A kernel uses registered memory by the host's address, where the device says that it can; where
// it says otherwise that is an execution fault.
static int by_host_address()
{
    static int own[1000];
    int can, device;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCanUseHostPointerForRegisteredMem, device));
    CHECK(cudaHostRegister(own, sizeof own, cudaHostRegisterMapped));
    own[0] = 21;
    if ((device_pointer(own) == own) != (can == 1))
        fail("the attribute is %d, and the addresses say otherwise", can);
    twice<<<1, 1>>>(own, own, 1);
    EXPECT_ERROR(cudaDeviceSynchronize(), can ? cudaSuccess : cudaErrorIllegalAddress);
    if (own[0] != (can ? 42 : 21))
        fail("the word has become %d", own[0]);
    return passed();
}

static void by_host_address_elsewhere() // before there is a context, of which a child has nothing
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "mapped", "by host address", (char *)nullptr);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        fail("registered memory by the host's address: status %d", status);
}

int main(int count, char **)
{
    if (count > 1)
        return by_host_address();
    by_host_address_elsewhere();
    int can = 0, device;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCanMapHostMemory, device));
    if (can != 1)
        fail("the device cannot map host memory");
    mapped(1000);
    mapped(1 << 18);
    other(5000);
    other(1 << 19);
    return passed();
}
