// SPDX-License-Identifier: Apache-2.0
// A program of two translation units whose device code is linked (nvcc -rdc=true): functions,
// variables and constants of the other unit, templates that both have, and static things of equal
// names that are kept apart.
#include "check.h"
#include "linked.cuh"

static __device__ int mine = 5;
static __device__ __noinline__ int helper(int x)
{
    return x + mine;
}
__device__ int *const pointed = &counter;

static __global__ void same(int *out)
{
    out[0] = helper(1);
}

__global__ void of_a(int *out, double *scaled)
{
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    Point p = {3, 4}, q = {5, 6};
    atomicAdd(&counter, dynamic[blockDim.x - 1]);
    out[1] = table[2];
    out[2] = p.dot(q);
    out[3] = *pointed;
    out[4] = next<int>();
    out[5] = clamp_to(1000, table[3]);
    *scaled = scale(21.0);
}

int main()
{
    int *out, host[16] = {};
    double *scaled, host_scaled = 0;
    CHECK(cudaMalloc(&out, sizeof host));
    CHECK(cudaMemset(out, 0, sizeof host));
    CHECK(cudaMalloc(&scaled, sizeof *scaled));
    const int values[4] = {10, 20, 30, 40};
    CHECK(cudaMemcpyToSymbol(table, values, sizeof values));
    const int start = 100;
    CHECK(cudaMemcpyToSymbol(counter, &start, sizeof start));

    same<<<1, 1>>>(out);
    CHECK(cudaGetLastError());
    of_a<<<1, 32, 32 * sizeof(int)>>>(out, scaled);
    CHECK(cudaGetLastError());
    run_b(out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&host_scaled, scaled, sizeof host_scaled, cudaMemcpyDeviceToHost));

    const int expected[16] = {6, 30, 39, 131, 0, 40, -49, 1, 40};
    for (int i = 0; i < 16; i++)
        if (host[i] != expected[i])
            fail("value %d is %d, not %d", i, host[i], expected[i]);
    if (host_scaled != 42.5)
        fail("scaled to %f", host_scaled);
    if (read_counter_of_b() != 132)
        fail("the counter is %d", read_counter_of_b());
    return passed();
}
