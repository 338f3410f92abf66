// SPDX-License-Identifier: Apache-2.0
// shares: does what its input says, a word per line, and answers each with a line. A helper of the
// end-to-end tests, which run several of it on one GPU and kill some.
//   take MIB     allocates; says "took" or the error's name
//   bit          allocates some bytes, which share a block with others; answers as take
//   pool MIB     takes so much of the default pool, frees it there, and waits; the pool keeps it.
//   Says
//                "kept", or the error's name
//   give         frees all
//   free         says how many MiB are free
//   work COUNT   launches so many kernels, one after the other, and waits for each; says "worked"
//   copy COUNT   likewise copies to the device and back
//   pinned COUNT the same with a MiB of pinned memory; says "copied"
//   fetch MIB    begins a copy of so much to the host, in a stream of its own; says "begun"
//   beside COUNT meanwhile copies to the device, in another stream, and launches so many kernels
//                behind that; waits for none of them; says "launched"
//   fetched      waits for both streams; says "fetched" if all bytes are right
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

static void keep_in_pool(size_t bytes)
{
    void *memory;
    cudaMemPool_t pool;
    uint64_t all = UINT64_MAX;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    cudaError_t error = cudaMallocAsync(&memory, bytes, 0);
    if (error == cudaSuccess) {
        CHECK(cudaFreeAsync(memory, 0));
        CHECK(cudaStreamSynchronize(0));
    }
    (void)cudaGetLastError();
    printf("%s\n", error == cudaSuccess ? "kept" : cudaGetErrorName(error));
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

static void copy_pinned(int count)
{
    char *host, *device;
    CHECK(cudaMallocHost(&host, mib));
    CHECK(cudaMalloc(&device, mib));
    for (int i = 0; i < count; i++) {
        host[mib / 2] = (char)i;
        CHECK(cudaMemcpy(device, host, mib, cudaMemcpyHostToDevice));
        host[mib / 2] = -1;
        CHECK(cudaMemcpy(host, device, mib, cudaMemcpyDeviceToHost));
        if (host[mib / 2] != (char)i)
            fail("pinned copy %d has lost its bytes", i);
    }
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
    printf("copied\n");
}

// A copy to the host, and work beside it.
static struct {
    cudaStream_t stream, other;
    unsigned char *device, *host;
    int *words;
    size_t bytes;
    int launched;
} fetch;
static const int word_count = mib / sizeof(int), value = 7;

static void fetch_begin(size_t bytes)
{
    fetch.bytes = bytes;
    CHECK(cudaStreamCreateWithFlags(&fetch.stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&fetch.other, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&fetch.device, bytes));
    CHECK(cudaMalloc(&fetch.words, mib));
    CHECK(cudaMallocHost(&fetch.host, bytes));
    CHECK(cudaMemset(fetch.device, 0x5a, bytes));
    add<<<1, 1, 0, fetch.other>>>(fetch.words); // its code is there
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpyAsync(fetch.host, fetch.device, bytes, cudaMemcpyDeviceToHost, fetch.stream));
    printf("begun\n");
}

static void fetch_beside(int count)
{
    std::vector<int> from(word_count, value);
    CHECK(cudaMemcpyAsync(fetch.words, from.data(), mib, cudaMemcpyHostToDevice, fetch.other));
    for (fetch.launched = 0; fetch.launched < count; fetch.launched++)
        add<<<4, 64, 0, fetch.other>>>(fetch.words);
    CHECK(cudaGetLastError());
    printf("launched\n");
}

static void fetch_end()
{
    std::vector<int> to(word_count);
    CHECK(cudaStreamSynchronize(fetch.other));
    CHECK(cudaStreamSynchronize(fetch.stream));
    for (size_t i = 0; i < fetch.bytes; i++)
        if (fetch.host[i] != 0x5a)
            fail("byte %zu is %d", i, fetch.host[i]);
    CHECK(cudaMemcpy(to.data(), fetch.words, mib, cudaMemcpyDeviceToHost));
    for (int i = 0; i < word_count; i++)
        if (to[i] != value + (i == 0 ? 256 * fetch.launched : 0))
            fail("word %d is %d", i, to[i]);
    printf("fetched\n");
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
        } else if (!strcmp(word, "pool") && scanf("%d", &number) == 1) {
            keep_in_pool(number * mib);
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
        } else if (!strcmp(word, "pinned") && scanf("%d", &number) == 1) {
            copy_pinned(number);
        } else if (!strcmp(word, "fetch") && scanf("%d", &number) == 1) {
            fetch_begin(number * mib);
        } else if (!strcmp(word, "beside") && scanf("%d", &number) == 1) {
            fetch_beside(number);
        } else if (!strcmp(word, "fetched")) {
            fetch_end();
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
