/* SPDX-License-Identifier: Apache-2.0 */
/* The null device: a CUDA driver that executes nothing, to measure everything in front of a driver.
 *
 * Note: copies and fills are real (its device memory is memory of this process); only kernels
 * are not run. Every call is complete when it returns, so no thread of a driver takes part in a
 * measurement. A server uses it only if its path is configured, and it names itself on stderr
 * and in its device name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cuda_names.h"

#define MEMORY_BYTES (UINT64_C(1) << 40)
#define NAME         "null device, executes nothing"

static char primary, *current = &primary; /* contexts have no state: an address is enough */

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    static int told;
    if (Flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!told++) {
        fprintf(stderr, "%s: a driver for measurements; results of kernels are not computed\n",
                NAME);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    *driverVersion = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = 0;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
    (void)dev;
    snprintf(name, (size_t)len, "%s", NAME);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    (void)dev;
    memcpy(uuid->bytes, "null device 0000", sizeof uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    (void)dev;
    *bytes = MEMORY_BYTES;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total)
{
    *free = *total = MEMORY_BYTES;
    return CUDA_SUCCESS;
}

/* The device lacks attributes that are not listed here. */
CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    static const int table[CU_DEVICE_ATTRIBUTE_MAX] = {
        [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
        [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = 2147483647,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
        [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
        [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
        [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
        [CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 1,
        [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 1024,
        [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 7,
        [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = 5,
        [CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
        [CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
    };
    (void)dev;
    if ((int)attrib < 1 || attrib >= CU_DEVICE_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pi = table[attrib];
    return CUDA_SUCCESS;
}

/* ---- contexts: the primary one, and made ones, which are the same */

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    (void)dev;
    *pctx = (CUcontext)(void *)&primary;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    (void)dev;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    (void)flags;
    return cuDevicePrimaryCtxRetain(pctx, dev);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    (void)ctx;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    (void)ctx;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    *pctx = (CUcontext)(void *)current;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
    return cuCtxGetCurrent(pctx);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    *leastPriority = *greatestPriority = 0;
    return CUDA_SUCCESS;
}

/* ---- streams and events: everything has happened already */

static CUresult handle_make(void *out)
{
    void *made = malloc(1);
    memcpy(out, &made, sizeof made);
    return made != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    (void)Flags;
    return handle_make(phStream);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    (void)priority;
    return cuStreamCreate(phStream, flags);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream)
{
    free(hStream);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    (void)hStream;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    (void)hStream;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    (void)hStream, (void)hEvent, (void)Flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    (void)Flags;
    return handle_make(phEvent);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent)
{
    free(hEvent);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    (void)hEvent;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    (void)hEvent;
    return CUDA_SUCCESS;
}

/* All at the same time: nothing takes any. */
CUresult CUDAAPI cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    (void)hStart, (void)hEnd;
    *pMilliseconds = 0;
    return CUDA_SUCCESS;
}
