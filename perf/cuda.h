/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API for a program that opens libcuda.so.1 at run time. */
#ifndef PERF_CUDA_H
#define PERF_CUDA_H

#include "api/cuda_names.h"

#define CUDA_FUNCTIONS(X)                                                                          \
    X(cuInit)                                                                                      \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuCtxGetCurrent)                                                                             \
    X(cuCtxSetCurrent)                                                                             \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuStreamCreate)                                                                              \
    X(cuStreamSynchronize)                                                                         \
    X(cuEventCreate)                                                                               \
    X(cuEventRecord)                                                                               \
    X(cuEventQuery)                                                                                \
    X(cuEventSynchronize)                                                                          \
    X(cuLaunchKernel)                                                                              \
    X(cuMemAlloc_v2)                                                                               \
    X(cuMemFree_v2)                                                                                \
    X(cuMemGetInfo_v2)                                                                             \
    X(cuMemHostAlloc)                                                                              \
    X(cuMemsetD8Async)                                                                             \
    X(cuMemcpyHtoD_v2)                                                                             \
    X(cuMemcpyHtoDAsync_v2)                                                                        \
    X(cuMemcpyDtoH_v2)                                                                             \
    X(cuMemcpyDtoHAsync_v2)

struct cuda {
#define X(name) __typeof__(name) *name;
    CUDA_FUNCTIONS(X)
#undef X
};

#endif
