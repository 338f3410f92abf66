// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of key-value pairs: short runs in shared memory, long merges in global memory.
#include <algorithm>
#include <vector>

#include "check.h"

static const unsigned shared_size = 512;

__device__ void compare_exchange(unsigned &key_a, unsigned &value_a, unsigned &key_b,
                                 unsigned &value_b, bool ascending)
{
    if ((key_a > key_b) == ascending) {
        unsigned key = key_a, value = value_a;
        key_a = key_b, value_a = value_b;
        key_b = key, value_b = value;
    }
}

// Sorts runs up to shared_size (from_size == 2), or finishes a merge of `from_size`.
__global__ void sort_shared(unsigned *keys, unsigned *values, unsigned from_size,
                            unsigned to_size)
{
    __shared__ unsigned key[shared_size], value[shared_size];
    const unsigned base = blockIdx.x * shared_size, half = shared_size / 2;
    for (unsigned i = threadIdx.x; i < shared_size; i += half) {
        key[i] = keys[base + i];
        value[i] = values[base + i];
    }
    for (unsigned size = from_size; size <= to_size; size *= 2) {
        for (unsigned stride = min(size, shared_size) / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            bool ascending = ((base + at) & size) == 0;
            compare_exchange(key[at], value[at], key[at + stride], value[at + stride], ascending);
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < shared_size; i += half) {
        keys[base + i] = key[i];
        values[base + i] = value[i];
    }
}

__global__ void merge_global(unsigned *keys, unsigned *values, unsigned size, unsigned stride)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = 2 * i - (i & (stride - 1));
    compare_exchange(keys[at], values[at], keys[at + stride], values[at + stride],
                     (at & size) == 0);
}

int main()
{
    const unsigned n = 1 << 14, blocks = n / shared_size, threads = shared_size / 2;
    std::vector<unsigned> keys(n), values(n), sorted_keys(n), sorted_values(n);
    Random random(6);
    for (unsigned i = 0; i < n; i++) {
        keys[i] = random.below(5000); // equal keys occur
        values[i] = i;
    }
    unsigned *device_keys, *device_values;
    const size_t bytes = n * sizeof(unsigned);
    CHECK(cudaMalloc(&device_keys, bytes));
    CHECK(cudaMalloc(&device_values, bytes));
    CHECK(cudaMemcpy(device_keys, keys.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_values, values.data(), bytes, cudaMemcpyHostToDevice));
    sort_shared<<<blocks, threads>>>(device_keys, device_values, 2, shared_size);
    CHECK(cudaGetLastError());
    for (unsigned size = 2 * shared_size; size <= n; size *= 2) {
        for (unsigned stride = size / 2; stride >= shared_size; stride /= 2)
            merge_global<<<n / 2 / threads, threads>>>(device_keys, device_values, size, stride);
        sort_shared<<<blocks, threads>>>(device_keys, device_values, size, size);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(sorted_keys.data(), device_keys, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(sorted_values.data(), device_values, bytes, cudaMemcpyDeviceToHost));
    std::vector<bool> seen(n, false);
    for (unsigned i = 0; i < n; i++) {
        if (i > 0 && sorted_keys[i - 1] > sorted_keys[i])
            fail("keys %u and %u are out of order", i - 1, i);
        unsigned value = sorted_values[i];
        if (value >= n || seen[value] || keys[value] != sorted_keys[i])
            fail("place %u: value %u does not belong to key %u", i, value, sorted_keys[i]);
        seen[value] = true;
    }
    CHECK(cudaFree(device_keys));
    CHECK(cudaFree(device_values));
    printf("%u pairs are sorted\n", n);
    return passed();
}
