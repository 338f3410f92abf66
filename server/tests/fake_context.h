/* SPDX-License-Identifier: Apache-2.0 */
/* A driver whose primary context is nothing: what pins memory asks for no more. */
#ifndef SERVER_TESTS_FAKE_CONTEXT_H
#define SERVER_TESTS_FAKE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "server/driver/driver.h"

static inline CUresult fake_retain(CUcontext *context, CUdevice device)
{
    (void)device;
    *context = NULL;
    return CUDA_SUCCESS;
}

static inline CUresult fake_set(CUcontext context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static inline CUresult fake_get(CUcontext *context)
{
    *context = NULL;
    return CUDA_SUCCESS;
}

/* Pinned memory has the same address on the device. */
static inline CUresult fake_pointer(CUdeviceptr *device, void *memory, unsigned flags)
{
    (void)flags;
    *device = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

/* Members of a struct cuda_driver. */
#define FAKE_CONTEXT                                                                               \
    .cuDevicePrimaryCtxRetain = fake_retain, .cuCtxSetCurrent = fake_set,                          \
    .cuCtxGetCurrent = fake_get

#endif
