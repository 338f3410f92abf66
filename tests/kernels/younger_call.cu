// SPDX-License-Identifier: Apache-2.0
// Makes a call that servers of an earlier release do not know, says what it got, and goes on. A
// helper of the end-to-end tests.
#include "check.h"

static void called(void *flag)
{
    *(volatile int *)flag = 1;
}

__global__ void add_one(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i]++;
}

int main()
{
    enum { COUNT = 1000 };
    int flag = 0, host[COUNT] = {0}, *device;
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0, sizeof host));
    cudaError_t error = cudaLaunchHostFunc(0, called, &flag);
    printf("error %d\n", (int)error);
    add_one<<<(COUNT + 127) / 128, 128>>>(device, COUNT);
    CHECK(cudaGetLastError() == error ? cudaSuccess : cudaErrorUnknown);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        if (host[i] != 1)
            fail("value %d is %d", i, host[i]);
    if (flag != (error == cudaSuccess))
        fail("the function %s", flag ? "ran" : "did not run");
    CHECK(cudaFree(device));
    return passed();
}
