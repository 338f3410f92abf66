// SPDX-License-Identifier: Apache-2.0
// A surface write out of bounds in the default boundary mode, and what comes after it.
#include "check.h"

__global__ void write(cudaSurfaceObject_t s, int x)
{
    surf2Dwrite(1.0f, s, x, 0);
}

int main()
{
    auto format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t s;
    CHECK(cudaMallocArray(&array, &format, 8, 8, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&s, &resource));
    write<<<1, 1>>>(s, 28);
    CHECK(cudaDeviceSynchronize());
    write<<<1, 1>>>(s, 32);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    return passed();
}
