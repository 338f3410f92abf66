/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device works. */
#include <stdio.h>
#include <string.h>

#include "base/failpoint.h"
#include "server/driver/driver.h"

#define CHECK_BYTES 4096u
#define CHECK_VALUE 0x5a

static CUresult check_memory(const struct cuda_driver *driver, const char **what)
{
    uint8_t read[CHECK_BYTES] = {0}, expected[CHECK_BYTES];
    CUdeviceptr at;
    memset(expected, CHECK_VALUE, sizeof expected);
    *what = "cuMemAlloc";
    CU_TRY(driver->cuMemAlloc_v2(&at, CHECK_BYTES));
    *what = "cuMemsetD8";
    CUresult rc = driver->cuMemsetD8_v2(at, CHECK_VALUE, CHECK_BYTES);
    if (rc == CUDA_SUCCESS) {
        *what = "cuMemcpyDtoH";
        rc = driver->cuMemcpyDtoH_v2(read, at, CHECK_BYTES);
    }
    if (rc == CUDA_SUCCESS && memcmp(read, expected, sizeof read) != 0) {
        *what = "its memory has not what was written there";
        rc = CUDA_ERROR_UNKNOWN;
    }
    if (GA_FAILPOINT("backend: device checked")) {
        *what = "cuMemcpyDtoH";
        rc = CUDA_ERROR_LAUNCH_FAILED;
    }
    (void)driver->cuMemFree_v2(at);
    return rc;
}

void driver_check(const struct cuda_driver *driver, uint32_t ordinal, char *reason,
                  size_t reason_size)
{
    CUdevice device;
    CUcontext context;
    char room[16];
    const char *what = "cuDeviceGet";
    CUresult rc = driver->cuDeviceGet(&device, (int)ordinal);
    if (rc == CUDA_SUCCESS) {
        what = "cuDevicePrimaryCtxRetain";
        rc = driver->cuDevicePrimaryCtxRetain(&context, device);
    }
    if (rc == CUDA_SUCCESS) {
        what = "cuCtxSetCurrent";
        rc = driver->cuCtxSetCurrent(context);
        rc = rc == CUDA_SUCCESS ? check_memory(driver, &what) : rc;
        (void)driver->cuCtxSetCurrent(NULL);
        (void)driver->cuDevicePrimaryCtxRelease_v2(device);
    }
    reason[0] = 0;
    if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_OUT_OF_MEMORY) {
        snprintf(reason, reason_size, "%s: %s", what, driver_result_name(driver, rc, room));
    }
}
