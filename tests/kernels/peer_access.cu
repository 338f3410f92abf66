// SPDX-License-Identifier: Apache-2.0
// Two devices whose kernels use each other's memory: what was there before access was enabled and
// what came later, from a pool too; and what the calls about it answer.
#include "check.h"

__device__ unsigned counter;

__global__ void add(unsigned *to, const unsigned *from, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = 2 * from[i] + i;
}

__global__ void count(unsigned *at)
{
    atomicAdd(at, 1);
}

static const unsigned n = 50000;

// Data is `there`; the kernel of the current device reads and writes it.
static void round_trip(unsigned *there, unsigned *here, cudaStream_t stream)
{
    static unsigned host[n], back[n];
    for (unsigned i = 0; i < n; i++)
        host[i] = i * 2654435761u;
    CHECK(cudaMemcpyAsync(there, host, sizeof host, cudaMemcpyDefault, stream));
    add<<<(n + 255) / 256, 256, 0, stream>>>(here, there, n);
    add<<<(n + 255) / 256, 256, 0, stream>>>(there, here, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(back, there, sizeof back, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (unsigned i = 0; i < n; i++) {
        unsigned right = 2 * (2 * host[i] + i) + i;
        if (back[i] != right)
            fail("value %u is %u, %u is right", i, back[i], right);
    }
}

int main()
{
    int devices, access, rank;
    unsigned *early, *late, *pooled, *here, *variable, counted = 0;
    cudaStream_t stream;
    cudaMemPool_t pool;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        fail("this program needs two devices, there is %d", devices);
    CHECK(cudaDeviceCanAccessPeer(&access, 0, 0));
    if (access != 0)
        fail("a device is its own peer");
    CHECK(cudaDeviceCanAccessPeer(&access, 0, 1));
    CHECK(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrAccessSupported, 0, 1));
    if (access != 1 || rank != 1)
        fail("device 0 cannot reach device 1: %d, %d", access, rank);
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&early, n * 4));
    CHECK(cudaGetSymbolAddress((void **)&variable, counter));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&here, n * 4));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    round_trip(early, here, stream);
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&late, n * 4));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 1));
    cudaMemAccessDesc desc = {};
    desc.location.type = cudaMemLocationTypeDevice;
    desc.flags = cudaMemAccessFlagsProtReadWrite;
    CHECK(cudaMemPoolSetAccess(pool, &desc, 1));
    CHECK(cudaMallocAsync(&pooled, n * 4, 0));
    CHECK(cudaStreamSynchronize(0));
    CHECK(cudaSetDevice(0));
    round_trip(late, here, stream);
    round_trip(pooled, here, stream);
    count<<<10, 100, 0, stream>>>(variable);
    CHECK(cudaMemcpyAsync(&counted, variable, 4, cudaMemcpyDefault, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (counted != 1000)
        fail("the other device's variable is %u, 1000 is right", counted);
    CHECK(cudaDeviceDisablePeerAccess(1));
    EXPECT_ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    (void)cudaGetLastError();
    CHECK(cudaFree(pooled));
    const cudaMemAccessFlags wanted[] = {cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtRead,
                                         cudaMemAccessFlagsProtReadWrite};
    for (cudaMemAccessFlags flags : wanted) {
        cudaMemAccessFlags found;
        desc.flags = flags;
        CHECK(cudaMemPoolSetAccess(pool, &desc, 1));
        CHECK(cudaMemPoolGetAccess(&found, pool, &desc.location));
        if (found != flags)
            fail("access to a pool is %d, not %d", (int)found, (int)flags);
    }
    desc.flags = (cudaMemAccessFlags)2;
    EXPECT_ERROR(cudaMemPoolSetAccess(pool, &desc, 1), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    return passed();
}
