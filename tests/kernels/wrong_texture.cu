// SPDX-License-Identifier: Apache-2.0
// A kernel with a texture object that is gone: a fault, and no crash.
#include "check.h"

__global__ void read(cudaTextureObject_t t, float *out)
{
    *out = tex2D<float>(t, 0, 0);
}

int main()
{
    auto format = cudaCreateChannelDesc<float>();
    float *out;
    cudaArray_t array;
    cudaResourceDesc resource = {};
    cudaTextureDesc desc = {};
    cudaTextureObject_t t;
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaMallocArray(&array, &format, 8, 8));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
    read<<<1, 1>>>(t, out);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDestroyTextureObject(t));
    read<<<1, 1>>>(t, out);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return passed();
}
