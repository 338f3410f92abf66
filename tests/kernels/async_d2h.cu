// SPDX-License-Identifier: Apache-2.0
// 64 MB to pinned memory without a wait, followed by a thousand launches: the submitter must not
// block on the copy for ever, and the copy must not see what the launches write.
#include "check.h"

static const size_t words = 16 << 20;
static const int step = 1024; // one word in this many is written by a kernel: a page's worth

__global__ void sprinkle(unsigned *data, unsigned value)
{
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i * step] = value + (unsigned)i;
}

__global__ void count_up(unsigned *counter) { atomicAdd(counter, threadIdx.x == 0 ? 1u : 0u); }

int main()
{
    const int marks = (int)(words / step), launches = 1000;
    unsigned *device, *counter, *host, count = 0;
    cudaStream_t copy, other;
    cudaEvent_t copied;
    CHECK(cudaMalloc(&device, words * sizeof(unsigned)));
    CHECK(cudaMalloc(&counter, sizeof(unsigned)));
    CHECK(cudaMallocHost(&host, words * sizeof(unsigned)));
    CHECK(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&copied));
    CHECK(cudaMemsetAsync(device, 0x5a, words * sizeof(unsigned), copy));
    CHECK(cudaMemsetAsync(counter, 0, sizeof(unsigned), other));
    sprinkle<<<marks / 256, 256, 0, copy>>>(device, 1000000);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(host, device, words * sizeof(unsigned), cudaMemcpyDeviceToHost, copy));
    CHECK(cudaEventRecord(copied, copy));
    for (int i = 0; i < launches; i++) {
        count_up<<<1, 32, 0, i % 2 ? copy : other>>>(counter);
        CHECK(cudaGetLastError());
    }
    sprinkle<<<marks / 256, 256, 0, copy>>>(device, 5); // after the copy, in its stream
    CHECK(cudaGetLastError());
    CHECK(cudaEventSynchronize(copied));
    for (size_t i = 0; i < words; i++) {
        unsigned right = i % step == 0 ? 1000000 + (unsigned)(i / step) : 0x5a5a5a5au;
        if (host[i] != right)
            fail("word %zu is %u, %u is right", i, host[i], right);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&count, counter, sizeof count, cudaMemcpyDeviceToHost));
    if (count != (unsigned)launches)
        fail("%u launches ran, %d were made", count, launches);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    CHECK(cudaFree(counter));
    CHECK(cudaStreamDestroy(copy));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaEventDestroy(copied));
    printf("64 MB and %d launches\n", launches);
    return passed();
}
