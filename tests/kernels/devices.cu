// SPDX-License-Identifier: Apache-2.0
// Lists the devices, one line each. A helper of the end-to-end tests and of the demo.
#include "check.h"

int main()
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; device++) {
        cudaDeviceProp properties;
        CHECK(cudaGetDeviceProperties(&properties, device));
        printf("device %d: %s, %zu MiB, %d multiprocessors, compute capability %d.%d, GPU-", device,
               properties.name, properties.totalGlobalMem >> 20, properties.multiProcessorCount,
               properties.major, properties.minor);
        for (int i = 0; i < 16; i++)
            printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                   (unsigned char)properties.uuid.bytes[i]);
        printf("\n");
    }
    return 0;
}
