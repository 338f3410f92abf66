// SPDX-License-Identifier: Apache-2.0
// A kernel uses memory of another device that it was not let in to.
#include "check.h"

__global__ void store(unsigned *to)
{
    *to = 1;
}

int main()
{
    int devices;
    unsigned *there;
    CHECK(cudaGetDeviceCount(&devices));
    if (devices < 2)
        fail("this program needs two devices, there is %d", devices);
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&there, 4 << 20));
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    store<<<1, 1>>>(there);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceDisablePeerAccess(1));
    store<<<1, 1>>>(there);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    return passed();
}
