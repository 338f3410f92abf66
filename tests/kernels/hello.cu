// SPDX-License-Identifier: Apache-2.0
// The smallest program that does everything once: memory, a copy in, a kernel, a copy out.
#include "check.h"

__global__ void twice(int *values)
{
    values[threadIdx.x] *= 2;
}

int main()
{
    int values[256], *device;
    for (int i = 0; i < 256; i++)
        values[i] = i;
    CHECK(cudaMalloc(&device, sizeof values));
    CHECK(cudaMemcpy(device, values, sizeof values, cudaMemcpyHostToDevice));
    twice<<<1, 256>>>(device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device));
    for (int i = 0; i < 256; i++) {
        if (values[i] != 2 * i)
            fail("element %d is %d, %d is right", i, values[i], 2 * i);
    }
    printf("hello\n");
    return passed();
}
