// SPDX-License-Identifier: Apache-2.0
// A kernel that reads outside of managed memory: its last byte is right, and far behind it, where
// nothing is mapped, is an illegal address, in the program's own process as through a server.
// semantics S136
#include "check.h"

__global__ void read_at(const char *address, int *to) { *to = *address; }

int main()
{
    const size_t bytes = 1 << 16;
    char *memory;
    int *got, value;
    CHECK(cudaMallocManaged(&memory, bytes));
    CHECK(cudaMalloc(&got, sizeof *got));
    memset(memory, 7, bytes);
    read_at<<<1, 1>>>(memory + bytes - 1, got);
    CHECK(cudaMemcpy(&value, got, sizeof value, cudaMemcpyDeviceToHost));
    if (value != 7)
        fail("the last byte is %d", value);
    read_at<<<1, 1>>>(memory + (1ull << 42), got);
    CHECK(cudaGetLastError()); // the launch itself is fine
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaFree(memory), cudaErrorIllegalAddress);
    return passed();
}
