// SPDX-License-Identifier: Apache-2.0
// Exclusive prefix sum in three kernels: scan blocks, scan the block sums, add them.
#include <vector>

#include "check.h"

static const int threads = 256;

// Each block scans 2 * threads numbers in shared memory, up the tree and down again.
__global__ void scan_blocks(unsigned *data, unsigned *sums, int n)
{
    __shared__ unsigned tree[2 * threads];
    const int base = blockIdx.x * 2 * threads, low = threadIdx.x, high = low + threads;
    tree[low] = base + low < n ? data[base + low] : 0;
    tree[high] = base + high < n ? data[base + high] : 0;
    int stride = 1;
    for (int pairs = threads; pairs > 0; pairs /= 2, stride *= 2) {
        __syncthreads();
        if (threadIdx.x < pairs)
            tree[stride * (2 * threadIdx.x + 2) - 1] += tree[stride * (2 * threadIdx.x + 1) - 1];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = tree[2 * threads - 1];
        tree[2 * threads - 1] = 0;
    }
    for (int pairs = 1; pairs <= threads; pairs *= 2) {
        stride /= 2;
        __syncthreads();
        if (threadIdx.x < pairs) {
            int left = stride * (2 * threadIdx.x + 1) - 1;
            int right = stride * (2 * threadIdx.x + 2) - 1;
            unsigned value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    if (base + low < n)
        data[base + low] = tree[low];
    if (base + high < n)
        data[base + high] = tree[high];
}

__global__ void add_sums(unsigned *data, const unsigned *sums, int n)
{
    __shared__ unsigned sum;
    if (threadIdx.x == 0)
        sum = sums[blockIdx.x];
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * threads; i += threads) {
        int at = blockIdx.x * 2 * threads + i;
        if (at < n)
            data[at] += sum;
    }
}

int main()
{
    const int n = 200001, blocks = (n + 2 * threads - 1) / (2 * threads);
    static_assert(blocks <= 2 * threads, "the block sums are scanned by one block");
    std::vector<unsigned> in(n), out(n);
    Random random(4);
    for (unsigned &value : in)
        value = random.below(1000);
    unsigned *data, *sums, *total;
    CHECK(cudaMalloc(&data, n * sizeof(unsigned)));
    CHECK(cudaMalloc(&sums, blocks * sizeof(unsigned)));
    CHECK(cudaMalloc(&total, sizeof(unsigned)));
    CHECK(cudaMemcpy(data, in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    scan_blocks<<<blocks, threads>>>(data, sums, n);
    CHECK(cudaGetLastError());
    scan_blocks<<<1, threads>>>(sums, total, blocks);
    CHECK(cudaGetLastError());
    add_sums<<<blocks, threads>>>(data, sums, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), data, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    unsigned sum = 0, device_total;
    for (int i = 0; i < n; i++) {
        if (out[i] != sum)
            fail("element %d is %u, %u is right", i, out[i], sum);
        sum += in[i];
    }
    CHECK(cudaMemcpy(&device_total, total, sizeof device_total, cudaMemcpyDeviceToHost));
    if (device_total != sum)
        fail("the total is %u, %u is right", device_total, sum);
    CHECK(cudaFree(data));
    CHECK(cudaFree(sums));
    CHECK(cudaFree(total));
    printf("%d prefix sums are right, total %u\n", n, sum);
    return passed();
}
