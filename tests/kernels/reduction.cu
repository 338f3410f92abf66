// SPDX-License-Identifier: Apache-2.0
// Sum and maximum of integers: a grid-stride loop, a tree in dynamic shared memory, a second pass.
#include <climits>
#include <vector>

#include "check.h"

struct Pair {
    long long sum;
    int maximum;
};

__global__ void reduce(const int *in, Pair *out, int n)
{
    extern __shared__ Pair partial[];
    Pair mine = {0, INT_MIN};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        mine.sum += in[i];
        mine.maximum = max(mine.maximum, in[i]);
    }
    partial[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            Pair other = partial[threadIdx.x + half];
            partial[threadIdx.x].sum += other.sum;
            partial[threadIdx.x].maximum = max(partial[threadIdx.x].maximum, other.maximum);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = partial[0];
}

__global__ void finish(Pair *partial, int count)
{
    for (int i = 1; i < count; i++) {
        partial[0].sum += partial[i].sum;
        partial[0].maximum = max(partial[0].maximum, partial[i].maximum);
    }
}

int main()
{
    const int n = 1 << 20 | 333, blocks = 40, threads = 256;
    std::vector<int> in(n);
    Random random(3);
    Pair right = {0, INT_MIN};
    for (int &value : in) {
        value = (int)random.next() - (1 << 30);
        right.sum += value;
        right.maximum = value > right.maximum ? value : right.maximum;
    }
    int *device_in;
    Pair *device_out, out;
    CHECK(cudaMalloc(&device_in, n * sizeof(int)));
    CHECK(cudaMalloc(&device_out, blocks * sizeof(Pair)));
    CHECK(cudaMemcpy(device_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    reduce<<<blocks, threads, threads * sizeof(Pair)>>>(device_in, device_out, n);
    CHECK(cudaGetLastError());
    finish<<<1, 1>>>(device_out, blocks);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&out, device_out, sizeof out, cudaMemcpyDeviceToHost));
    if (out.sum != right.sum || out.maximum != right.maximum)
        fail("sum %lld maximum %d, right are %lld and %d", out.sum, out.maximum, right.sum,
             right.maximum);
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));
    printf("sum of %d numbers is %lld, maximum %d\n", n, out.sum, out.maximum);
    return passed();
}
