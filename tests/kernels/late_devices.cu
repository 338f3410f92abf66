// SPDX-License-Identifier: Apache-2.0
// late_devices: counts the devices, and uses each of them only when a line has come on its standard
// input (or when that has ended).
#include "check.h"

int main()
{
    int devices;
    char line[16];
    CHECK(cudaGetDeviceCount(&devices));
    printf("started with %d\n", devices);
    fflush(stdout);
    for (int device = 0; device < devices; device++) {
        int *memory, value = 0;
        (void)!fgets(line, sizeof line, stdin);
        CHECK(cudaSetDevice(device));
        CHECK(cudaMalloc(&memory, sizeof value));
        CHECK(cudaMemset(memory, 1, sizeof value));
        CHECK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
        if (value != 0x01010101)
            fail("device %d: %x", device, (unsigned)value);
        printf("device %d works\n", device);
        fflush(stdout);
    }
    printf("PASSED\n");
    return 0;
}
