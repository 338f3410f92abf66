// SPDX-License-Identifier: Apache-2.0
// shares: does what its input says, a word per line, and answers each with a line. A helper of the
// end-to-end tests, which run several of it on one GPU and kill some.
//   take MIB     allocates; says "took" or the error's name
//   bit          allocates some bytes, which share a block with others; answers as take
//   give         frees all
//   free         says how many MiB are free
//   work COUNT   launches so many kernels, one after the other, and waits for each; says "worked"
//   copy COUNT   likewise copies to the device and back
//   device N     takes and copies on this device from now on; says "changed"
//   spin         launches a kernel that never ends; says "spins"
#include <vector>

#include "check.h"

static const size_t mib = 1 << 20;
static std::vector<void *> held;

__global__ void add(int *counter)
{
    atomicAdd(counter, 1);
}

__global__ void spin(volatile int *flag)
{
    while (*flag >= 0)
        ;
}

static void take(size_t bytes)
{
    void *memory;
    cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaSuccess)
        held.push_back(memory);
    (void)cudaGetLastError();
    printf("%s\n", error == cudaSuccess ? "took" : cudaGetErrorName(error));
}

static void give()
{
    for (void *memory : held)
        CHECK(cudaFree(memory));
    held.clear();
    printf("gave\n");
}

static void say_free()
{
    size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    printf("%zu free\n", free_bytes / mib);
}

static void work(int *counter, int count)
{
    int before, after;
    CHECK(cudaMemcpy(&before, counter, sizeof before, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        add<<<4, 64>>>(counter);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpy(&after, counter, sizeof after, cudaMemcpyDeviceToHost));
    if (after - before != 256 * count)
        fail("%d threads have run, not %d", after - before, 256 * count);
    printf("worked\n");
}

static void copy(int count)
{
    std::vector<char> host(12 * mib, 3);
    char *device;
    CHECK(cudaMalloc(&device, host.size()));
    for (int i = 0; i < count; i++) {
        host[5 * mib] = (char)i;
        CHECK(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
        host[5 * mib] = -1;
        CHECK(cudaMemcpy(host.data(), device, host.size(), cudaMemcpyDeviceToHost));
        if (host[5 * mib] != (char)i)
            fail("copy %d has lost its bytes", i);
    }
    CHECK(cudaFree(device));
    printf("copied\n");
}

int main()
{
    int *counter, number;
    char word[16];
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    while (scanf("%15s", word) == 1) {
        if (!strcmp(word, "take") && scanf("%d", &number) == 1) {
            take(number * mib);
        } else if (!strcmp(word, "bit")) {
            take(64);
        } else if (!strcmp(word, "give")) {
            give();
        } else if (!strcmp(word, "free")) {
            say_free();
        } else if (!strcmp(word, "work") && scanf("%d", &number) == 1) {
            work(counter, number);
        } else if (!strcmp(word, "copy") && scanf("%d", &number) == 1) {
            copy(number);
        } else if (!strcmp(word, "device") && scanf("%d", &number) == 1) {
            CHECK(cudaSetDevice(number));
            printf("changed\n");
        } else if (!strcmp(word, "spin")) {
            spin<<<1, 32>>>(counter);
            CHECK(cudaGetLastError());
            if (cudaStreamQuery(0) != cudaErrorNotReady)
                fail("the endless kernel has ended");
            printf("spins\n");
        } else {
            fail("%s?", word);
        }
        fflush(stdout);
    }
    return passed();
}
