/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory and pinned host memory. */
#include "softgpu/calls/call.h"
#include "softgpu/graph/graph_memory.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/host_memory.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/memory/vmm.h"
#include "softgpu/process/placement.h"
#include "softgpu/stream/waits.h"

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if (free == NULL || total == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    sg_vmm_sweep();
    *free = sg_physical_free(&context->device->memory) * SG_CHUNK_BYTES;
    *total = context->device->memory.total * SG_CHUNK_BYTES;
    return sg_leave(CUDA_SUCCESS);
}

/* `place`: its address; 0: anywhere. */
static CUresult device_alloc(struct sg_context *context, CUdeviceptr *dptr, uint64_t bytes,
                             uint64_t place)
{
    struct sg_range *range = NULL;
    CUresult rc = sg_heap_alloc_at(context->device, context, bytes, place, &range);
    if (rc == CUDA_SUCCESS) {
        range->kept = false;
        ga_list_append(&context->ranges, &range->in_context);
        *dptr = range->span.base;
    }
    return rc;
}

/* Out of memory: waits for work that still uses freed memory of pools, and tries again. */
static CUresult device_alloc_late(struct sg_context *context, CUdeviceptr *dptr, uint64_t bytes,
                                  uint64_t place)
{
    CUresult rc = device_alloc(context, dptr, bytes, place);
    if (rc != CUDA_ERROR_OUT_OF_MEMORY ||
        !front_mempool_release((CUdevice)context->device->ordinal)) {
        return sg_leave(rc);
    }
    rc = sg_leave(sg_process_wait());
    if (rc == CUDA_SUCCESS) {
        rc = sg_enter(&context); /* the context may be gone meanwhile */
    }
    return rc == CUDA_SUCCESS ? sg_leave(device_alloc(context, dptr, bytes, place)) : rc;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    struct sg_context *context;
    uint64_t place = sg_placement_take_memory();
    CU_TRY(sg_enter(&context));
    return dptr == NULL ? sg_leave(CUDA_ERROR_INVALID_VALUE)
                        : device_alloc_late(context, dptr, bytesize, place);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                    size_t Height, unsigned int ElementSizeBytes)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    size_t pitch = (WidthInBytes + SG_ALLOC_ALIGN - 1) & ~(size_t)(SG_ALLOC_ALIGN - 1);
    size_t bytes;
    bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
    if (dptr == NULL || pPitch == NULL || !element || pitch < WidthInBytes ||
        __builtin_mul_overflow(pitch, Height, &bytes)) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = device_alloc_late(context, dptr, bytes, 0);
    if (rc == CUDA_SUCCESS) {
        *pPitch = pitch;
    }
    return rc;
}

static bool may_free(const struct sg_range *range, uint64_t address)
{
    return range != NULL && range->span.base == address && !range->variable && !range->pooled &&
           (range->kind == SG_RANGE_LARGE || range->kind == SG_RANGE_SMALL ||
            range->kind == SG_RANGE_MANAGED);
}

/* Frees memory that a graph has left allocated. */
static CUresult graph_free(uint64_t address)
{
    CUresult rc = sg_process_wait();
    struct sg_graph_memory *memory = sg_graph_memory_find(address);
    if (rc == CUDA_SUCCESS && memory == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? sg_graph_memory_free(memory) : rc;
}

/* Any stream may use the memory: waits for all work. */
static CUresult call_memory_pooled_free(CUdeviceptr dptr)
{
    struct front_mempool_found found;
    if (!front_mempool_find(dptr, &found) || found.start != dptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = sg_process_wait();
    if (rc == CUDA_SUCCESS && !front_mempool_free(dptr)) {
        rc = CUDA_ERROR_INVALID_VALUE; /* another thread has freed it meanwhile */
    }
    return rc;
}

/* Waits for earlier work that may use the allocation. */
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (dptr == 0) {
        return sg_leave(CUDA_SUCCESS);
    }
    if (sg_graph_memory_find(dptr) != NULL) {
        return sg_leave(graph_free(dptr));
    }
    struct sg_range *range = sg_range_find(dptr);
    if (range != NULL && range->pooled) {
        return sg_leave(call_memory_pooled_free(dptr));
    }
    if (!may_free(range, dptr)) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    uint64_t id = range->id;
    bool managed = range->kind == SG_RANGE_MANAGED; /* any context may use it */
    rc = managed ? sg_process_wait() : sg_context_wait_users(range->context);
    range = sg_range_find(dptr); /* another thread may have freed it meanwhile */
    if (rc == CUDA_SUCCESS && (range == NULL || range->id != id)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) { /* otherwise work may still use it */
        managed ? sg_host_free(range) : sg_heap_free(range);
    }
    return sg_leave(rc);
}

/* ---- pinned host memory ---- */

static bool range_pinned(const struct sg_range *range)
{
    return range != NULL && (range->kind == SG_RANGE_HOST || range->kind == SG_RANGE_REGISTERED);
}

static CUresult host_alloc(void **pp, size_t bytes, unsigned flags)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_range *range = NULL;
    rc = pp == NULL ? CUDA_ERROR_INVALID_VALUE : sg_host_alloc(context, bytes, flags, &range);
    if (rc == CUDA_SUCCESS && range == NULL) {
        *pp = NULL; /* for 0 bytes, as NVIDIA's driver does */
    } else if (rc == CUDA_SUCCESS) {
        ga_list_append(&context->ranges, &range->in_context);
        *pp = (void *)(uintptr_t)range->span.base;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return host_alloc(pp, bytesize, 0);
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    return host_alloc(pp, bytesize, Flags);
}

/* Every context may use pinned memory: waits for all work. `unknown`: the error if nothing is
 * pinned there. */
static CUresult host_release(uint64_t address, enum sg_range_kind kind, CUresult unknown)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_range *range = sg_range_find(address);
    if (!range_pinned(range)) {
        return sg_leave(unknown);
    }
    if (range->kind != kind || range->span.base != address) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    uint64_t id = range->id;
    rc = sg_process_wait();
    range = sg_range_find(address);
    if (rc == CUDA_SUCCESS && (range == NULL || range->id != id)) {
        rc = unknown;
    }
    if (rc == CUDA_SUCCESS) { /* otherwise work may still use it */
        sg_host_free(range);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
    return host_release((uint64_t)(uintptr_t)p, SG_RANGE_HOST,
                        p == NULL ? CUDA_SUCCESS /* the pointer of an allocation of 0 bytes */
                                  : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    return sg_leave(sg_host_register(context, (uint64_t)(uintptr_t)p, bytesize, Flags));
}

CUresult CUDAAPI cuMemHostUnregister(void *p)
{
    return host_release((uint64_t)(uintptr_t)p, SG_RANGE_REGISTERED,
                        p == NULL ? CUDA_ERROR_INVALID_VALUE
                                  : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* Enters and finds the pinned memory that holds `p`; the lock is held on success. */
static CUresult host_enter(const void *p, const void *out, struct sg_range **range)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    *range = sg_range_find((uint64_t)(uintptr_t)p);
    return out == NULL || !range_pinned(*range) ? sg_leave(CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    struct sg_range *range;
    CU_TRY(host_enter(p, pdptr, &range));
    if (Flags != 0) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *pdptr = (CUdeviceptr)(uintptr_t)p;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
    struct sg_range *range;
    CU_TRY(host_enter(p, pFlags, &range));
    if (range->kind != SG_RANGE_HOST) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *pFlags = range->host_flags |
              CU_MEMHOSTALLOC_DEVICEMAP; /* the flag is set whether requested or not */
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    const struct sg_range *range = sg_range_find(dptr);
    if (range == NULL) {
        return sg_leave(CUDA_ERROR_NOT_FOUND);
    }
    struct sg_span span = range->span;
    if (range->pooled) {
        struct front_mempool_found found;
        if (!front_mempool_find(dptr, &found)) {
            return sg_leave(CUDA_ERROR_NOT_FOUND);
        }
        span = (struct sg_span){.base = found.start, .bytes = found.bytes};
    }
    if (pbase != NULL) {
        *pbase = span.base;
    }
    if (psize != NULL) {
        *psize = span.bytes;
    }
    return sg_leave(CUDA_SUCCESS);
}
