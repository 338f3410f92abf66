/* SPDX-License-Identifier: Apache-2.0 */
// As check.h, for programs written against the driver API.
#pragma once

#include <cuda.h>

#include "check.h"

#define CHECK_DRIVER(call) check_driver((call), #call, __FILE__, __LINE__)

static inline const char *driver_error_name(CUresult result)
{
    const char *name = nullptr;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS && name ? name : "unknown error";
}

static inline void check_driver(CUresult result, const char *call, const char *file, int line)
{
    if (result != CUDA_SUCCESS)
        fail("%s:%d: %s: %s (%d)", file, line, call, driver_error_name(result), (int)result);
}

#define EXPECT_DRIVER(call, expected) expect_driver((call), (expected), #call, __FILE__, __LINE__)

static inline void expect_driver(CUresult result, CUresult expected, const char *call,
                                 const char *file, int line)
{
    if (result != expected)
        fail("%s:%d: %s: %s (%d) where %s (%d) is due", file, line, call, driver_error_name(result),
             (int)result, driver_error_name(expected), (int)expected);
    printf("%s -> %s\n", call, driver_error_name(result));
}

static inline CUcontext create_context(CUdevice device)
{
    CUcontext context;
#if CUDA_VERSION >= 13000
    CHECK_DRIVER(cuCtxCreate(&context, nullptr, 0, device));
#else
    CHECK_DRIVER(cuCtxCreate(&context, 0, device));
#endif
    return context;
}
