// SPDX-License-Identifier: Apache-2.0
// A kernel that writes where it owns nothing: the next wait says so, and so does every call after
// it, until the process ends.
#include "check.h"

__global__ void write_at(int *address) { *address = 1; }

int main()
{
    int *mine;
    void *other;
    CHECK(cudaMalloc(&mine, 4096));
    write_at<<<1, 1>>>(mine);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    write_at<<<1, 1>>>((int *)((char *)mine + (1ull << 42)));
    CHECK(cudaGetLastError()); // the launch itself is fine
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaMalloc(&other, 4096), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaFree(mine), cudaErrorIllegalAddress);
    return passed();
}
