// SPDX-License-Identifier: Apache-2.0
// Calls that are not provided: each gives cudaErrorNotSupported, and the program goes on. When one
// of them comes to be supported, it leaves this program. An end-to-end test sees that each is
// named on stderr.
#include "check.h"

__global__ void fill(int *data) { data[threadIdx.x] = 5; }

int main()
{
    cudaExternalMemory_t external;
    cudaExternalMemoryHandleDesc foreign = {};
    int *data, host[32];
    CHECK(cudaMalloc(&data, sizeof host));
    foreign.type = cudaExternalMemoryHandleTypeOpaqueFd;
    foreign.size = 65536;
    EXPECT_ERROR(cudaImportExternalMemory(&external, &foreign), cudaErrorNotSupported);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorNotSupported);
    fill<<<1, 32>>>(data);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int value : host) {
        if (value != 5)
            fail("a kernel gives %d, 5 is right", value);
    }
    CHECK(cudaFree(data));
    return passed();
}
