// SPDX-License-Identifier: Apache-2.0
// A program without PTX, as -gencode arch=compute_75,code=sm_75 makes it: what a software GPU
// cannot run, and refuses when the kernel is first needed.
#include "check.h"

__global__ void store(int *to) { *to = 1; }

int main()
{
    int *memory;
    CHECK(cudaMalloc(&memory, sizeof *memory));
    store<<<1, 1>>>(memory);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    CHECK(cudaFree(memory));
    return passed();
}
