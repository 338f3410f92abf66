// SPDX-License-Identifier: Apache-2.0
// A module with 80 MiB of variables: it needs them when it is loaded, whoever asks for them.
#include "check.h"

__device__ char variable[80 << 20];

__global__ void fill(char value)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < sizeof variable; i += 4096 * step)
        variable[i] = value;
}

int main()
{
    char first = 0;
    fill<<<2, 32>>>(7);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyFromSymbol(&first, variable, 1));
    if (first != 7)
        fail("the variable is %d", first);
    passed();
}
