// SPDX-License-Identifier: Apache-2.0
// other_devices fault|spin: what the other devices answer, none of which was in use, when a kernel
// on device 0 has done wrong (fault), or has not come to its end (spin; whoever watches ends it).
#include "check_driver.h"

__global__ void fault(int *p) { *p = 1; }
__global__ void spin(volatile int *p)
{
    while (*p == 0)
        ;
}

int main(int count, char **arguments)
{
    int *memory, devices;
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaMalloc(&memory, 4));
    CHECK(cudaMemset(memory, 0, 4));
    if (count > 1 && strcmp(arguments[1], "spin") == 0)
        spin<<<1, 1>>>(memory);
    else
        fault<<<1, 1>>>(nullptr);
    printf("started\n");
    fflush(stdout);
    printf("waited: error %d\n", (int)cudaDeviceSynchronize());
    for (int device = 1; device < devices; device++) {
        CUcontext context;
        printf("device %d: error %d\n", device, (int)cuDevicePrimaryCtxRetain(&context, device));
    }
    return 0;
}
