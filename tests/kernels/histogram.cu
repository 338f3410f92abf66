// SPDX-License-Identifier: Apache-2.0
// Histogram of bytes: atomics in shared memory per block, then atomics in global memory; and the
// other atomic operations on one word each.
#include <vector>

#include "check.h"

static const int bins = 256;

__global__ void histogram(const unsigned char *data, int n, unsigned *counts)
{
    __shared__ unsigned local[bins];
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        atomicAdd(&counts[i], local[i]);
}

struct Words {
    int maximum, minimum, subtracted;
    unsigned any, all, parity, winner, largest;
    unsigned long long wide;
    float sum;
};

__global__ void atomics(Words *words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&words->maximum, i);
    atomicMin(&words->minimum, -i);
    atomicSub(&words->subtracted, 2);
    atomicOr(&words->any, 1u << (i % 32));
    atomicAnd(&words->all, ~(1u << (i % 16)));
    atomicXor(&words->parity, (unsigned)i);
    atomicCAS(&words->winner, 0u, (unsigned)i + 1);
    atomicExch(&words->largest, 7u);
    atomicAdd(&words->wide, 1ull << 33);
    atomicAdd(&words->sum, 0.5f); // exact: all sums are small multiples of 1/2
}

static void check_atomics()
{
    const int blocks = 9, threads = 128, n = blocks * threads;
    Words words = {-1, 1, 0, 0, ~0u, 0, 0, 0, 0, 0};
    unsigned parity = 0;
    for (int i = 0; i < n; i++)
        parity ^= (unsigned)i;
    Words *device;
    CHECK(cudaMalloc(&device, sizeof words));
    CHECK(cudaMemcpy(device, &words, sizeof words, cudaMemcpyHostToDevice));
    atomics<<<blocks, threads>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&words, device, sizeof words, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    if (words.maximum != n - 1 || words.minimum != 1 - n || words.subtracted != -2 * n)
        fail("max %d min %d sub %d", words.maximum, words.minimum, words.subtracted);
    if (words.any != ~0u || words.all != 0xffff0000u || words.parity != parity)
        fail("or %x and %x xor %x", words.any, words.all, words.parity);
    if (words.winner < 1 || words.winner > (unsigned)n || words.largest != 7)
        fail("cas %u exch %u", words.winner, words.largest);
    if (words.wide != (unsigned long long)n << 33 || words.sum != n * 0.5f)
        fail("64-bit add %llx float add %g", words.wide, words.sum);
}

int main()
{
    const int n = 300007;
    std::vector<unsigned char> data(n);
    std::vector<unsigned> right(bins, 0), counts(bins);
    Random random(5);
    for (unsigned char &value : data) {
        value = (unsigned char)(random.below(256) & random.below(256)); // some bins are crowded
        right[value]++;
    }
    unsigned char *device_data;
    unsigned *device_counts;
    CHECK(cudaMalloc(&device_data, n));
    CHECK(cudaMalloc(&device_counts, bins * sizeof(unsigned)));
    CHECK(cudaMemcpy(device_data, data.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_counts, 0, bins * sizeof(unsigned)));
    histogram<<<24, 192>>>(device_data, n, device_counts);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(counts.data(), device_counts, bins * sizeof(unsigned),
                     cudaMemcpyDeviceToHost));
    for (int i = 0; i < bins; i++) {
        if (counts[i] != right[i])
            fail("bin %d has %u, %u is right", i, counts[i], right[i]);
    }
    CHECK(cudaFree(device_data));
    CHECK(cudaFree(device_counts));
    check_atomics();
    printf("%d bytes in %d bins are counted right\n", n, bins);
    return passed();
}
