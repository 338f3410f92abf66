// SPDX-License-Identifier: Apache-2.0
// One thread of several writes where nothing is: the program's stderr says which, where, and what
// lies nearest. Compiled with -lineinfo; tests/e2e/output.py knows the line.
#include "check.h"

__global__ void scatter(int *to, long long away)
{
    if (blockIdx.x == 1 && threadIdx.x == 3)
        to[away] = 1;
}

int main()
{
    int *memory;
    CHECK(cudaMalloc(&memory, 1 << 20));
    scatter<<<2, 32>>>(memory, -(1ll << 34));
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return passed();
}
