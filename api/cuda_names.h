/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h with the exported symbols: no macro renames cuMemAlloc to cuMemAlloc_v2, all variants
 * are declared, and every declared function is exported by the library that defines it. A file
 * that defines or calls CUDA functions includes this header and never <cuda.h>. */
#ifndef API_CUDA_NAMES_H
#define API_CUDA_NAMES_H

#if defined(__cuda_cuda_h__) && !defined(__CUDA_API_VERSION_INTERNAL)
#error "include api/cuda_names.h before (and instead of) cuda.h"
#endif

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cudaProfiler.h>
#pragma GCC visibility pop

/* Returns from the calling function with the result of `expr` unless it is CUDA_SUCCESS, as
 * GA_TRY does for a status (base/status.h). */
#define CU_TRY(expr)                                                                               \
    do {                                                                                           \
        CUresult cu_try_result_ = (expr);                                                          \
        if (cu_try_result_ != CUDA_SUCCESS) {                                                      \
            return cu_try_result_;                                                                 \
        }                                                                                          \
    } while (0)

/* Inside a library (API_CUDA_INSIDE), functions that stream capture concerns have inner names:
 * the exported function asks front/capture/capture.h first. */
#if defined(API_CUDA_INSIDE) && !defined(API_CUDA_OUTSIDE)
#include "api/capture_calls.h"
#endif

#endif
