// SPDX-License-Identifier: Apache-2.0
// The other unit of the program "linked".
#include "check.h"
#include "linked.cuh"

__device__ int counter = 7;
__constant__ int table[4] = {1, 2, 3, 4};

static __device__ int mine = 50;
static __device__ __noinline__ int helper(int x)
{
    return x - mine;
}

__device__ double scale(double x)
{
    return 2 * x + 0.5;
}

__device__ int Point::dot(const Point &other) const
{
    return x * other.x + y * other.y;
}

static __global__ void same(int *out)
{
    out[6] = helper(1);
    out[7] = next<int>();
    out[8] = clamp_to(1000, table[3]);
    atomicAdd(&counter, 1);
}

void run_b(int *out)
{
    same<<<1, 1>>>(out);
    CHECK(cudaGetLastError());
}

int read_counter_of_b()
{
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    return value;
}
