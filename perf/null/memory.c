/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the null device: pages of this process at the requested addresses. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "perf/null/null.h"

#define FRONT_BYTES 4096u
#define GRANULARITY ((size_t)2 << 20)

/* ---- addresses and mappings */

static void *pages_at(CUdeviceptr at, size_t bytes, int protection, int flags)
{
    void *wanted = (void *)(uintptr_t)at;
    void *got =
        mmap(wanted, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags)
{
    (void)alignment, (void)flags;
    void *got = pages_at(addr, size, PROT_NONE, addr != 0 ? MAP_FIXED_NOREPLACE : 0);
    if (got == NULL) {
        got = pages_at(0, size, PROT_NONE, 0);
    }
    *ptr = (CUdeviceptr)(uintptr_t)got;
    return got != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    return munmap((void *)(uintptr_t)ptr, size) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    (void)prop, (void)option;
    *granularity = GRANULARITY;
    return CUDA_SUCCESS;
}

/* An allocation is pages once it is mapped; its handle says nothing. */
CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    (void)size, (void)prop, (void)flags;
    *handle = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    (void)handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    (void)offset, (void)handle, (void)flags;
    return pages_at(ptr, size, PROT_READ | PROT_WRITE, MAP_FIXED) != NULL
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    (void)ptr, (void)size, (void)desc, (void)count;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    return pages_at(ptr, size, PROT_NONE, MAP_FIXED) != NULL ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
}

/* In front of an allocation stands how large all of it is. */
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    uint64_t *got = pages_at(0, FRONT_BYTES + bytesize, PROT_READ | PROT_WRITE, 0);
    if (got == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *got = FRONT_BYTES + bytesize;
    *dptr = (CUdeviceptr)(uintptr_t)got + FRONT_BYTES;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    uint64_t *front = (uint64_t *)(uintptr_t)(dptr - FRONT_BYTES);
    return munmap(front, *front) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Pinned memory is there when the call returns, as with a real driver. */
CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    (void)Flags;
    *pp = pages_at(0, bytesize, PROT_READ | PROT_WRITE, MAP_POPULATE);
    return *pp != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    (void)p, (void)bytesize, (void)Flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    (void)p;
    return CUDA_SUCCESS;
}

/* ---- copies and fills: real, and over when they return */

static CUresult copy_in(CUdeviceptr to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    null_counts.copies_in++;
    null_counts.bytes_in += bytes;
    return CUDA_SUCCESS;
}

static CUresult copy_out(void *to, CUdeviceptr from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    null_counts.copies_out++;
    null_counts.bytes_out += bytes;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    return copy_in(dstDevice, srcHost, ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream)
{
    (void)hStream;
    return copy_in(dstDevice, srcHost, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    return copy_out(dstHost, srcDevice, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream)
{
    (void)hStream;
    return copy_out(dstHost, srcDevice, ByteCount);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                 CUstream hStream)
{
    (void)hStream;
    memset((void *)(uintptr_t)dstDevice, uc, N);
    null_counts.fills++;
    return CUDA_SUCCESS;
}
