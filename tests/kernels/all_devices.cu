// SPDX-License-Identifier: Apache-2.0
// Uses every device at once: writes a number to each, then reads them all back. With "wait" it says
// "started" then, and goes on until something ends it. By the driver API: the runtime gives up
// beyond some dozens of devices.
#include <string.h>
#include <unistd.h>
#include <vector>

#include "check_driver.h"

int main(int argc, char **argv)
{
    int count = 0;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGetCount(&count));
    std::vector<CUcontext> contexts(count);
    std::vector<CUdeviceptr> numbers(count);
    for (int i = 0; i < count; i++) {
        CHECK_DRIVER(cuDevicePrimaryCtxRetain(&contexts[i], i));
        CHECK_DRIVER(cuCtxSetCurrent(contexts[i]));
        CHECK_DRIVER(cuMemAlloc(&numbers[i], sizeof(int)));
        CHECK_DRIVER(cuMemcpyHtoD(numbers[i], &i, sizeof i));
    }
    for (int i = 0; i < count; i++) {
        int number = -1;
        CHECK_DRIVER(cuCtxSetCurrent(contexts[i]));
        CHECK_DRIVER(cuMemcpyDtoH(&number, numbers[i], sizeof number));
        if (number != i)
            fail("device %d holds %d", i, number);
    }
    printf("%d devices\n", count);
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        printf("started\n");
        fflush(stdout);
        pause();
    }
    return passed();
}
