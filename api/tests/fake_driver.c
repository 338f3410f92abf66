/* SPDX-License-Identifier: Apache-2.0 */
/* A library that has three functions of a CUDA driver; with FORWARDS it gives out the table of our
 * own client. */
#include <stdbool.h>
#include <string.h>

#include "api/cuda_names.h"
#include "api/driver_open.h"

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    return Flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
    *count = 7;
    return CUDA_SUCCESS;
}

/* The older of two names of one function. */
CUresult CUDAAPI cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    (void)hStart;
    (void)hEnd;
    *pMilliseconds = 1.5f;
    return CUDA_SUCCESS;
}

#ifdef FORWARDS
CUresult CUDAAPI cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    static const CUuuid uuid = {.bytes = CUDA_DRIVER_FORWARDS_UUID};
    bool ours = memcmp(pExportTableId, &uuid, sizeof uuid) == 0;
    *ppExportTable = ours ? &uuid : NULL;
    return ours ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
#endif
