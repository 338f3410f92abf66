/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that memory pools need of the driver (front/mempool/mempool.h): a chunk is an
 * allocation without a context. */
#include "softgpu/calls/mempool.h"

#include <string.h>

#include "softgpu/calls/call.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/ipc.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/stream/events.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/streams.h"

static CUresult call_mempool_enter_stream(CUstream handle, struct front_stream *stream)
{
    struct sg_stream *found;
    CUresult rc = sg_enter_stream(handle, &found);
    if (rc == CUDA_SUCCESS) {
        *stream = (struct front_stream){.id = found->id,
                                        .device = (CUdevice)found->context->device->ordinal,
                                        .context = found->context,
                                        .stream = found};
    }
    return rc;
}

static void call_mempool_leave(void)
{
    (void)sg_leave(CUDA_SUCCESS);
}

static CUresult call_mempool_map(CUdevice device, uint64_t bytes, uint64_t *address)
{
    struct sg_range *range;
    CUresult rc = sg_heap_alloc(sg_device_at(device), NULL, bytes, &range);
    if (rc == CUDA_SUCCESS) {
        range->pooled = true;
        *address = range->span.base;
    }
    return rc;
}

static void call_mempool_unmap(CUdevice device, uint64_t address, uint64_t bytes)
{
    (void)device;
    (void)bytes;
    sg_heap_free(sg_range_find(address));
}

static CUresult call_mempool_access(CUdevice device, uint64_t address, uint64_t bytes, CUdevice by,
                                    CUmemAccess_flags flags)
{
    (void)device;
    (void)bytes;
    unsigned rights = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? 0
                      : flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? SG_MAP_READ
                                                               : SG_MAP_READ | SG_MAP_WRITE;
    return sg_range_set_rights(sg_range_find(address), (unsigned)by, rights) == GA_OK
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

static void *call_mempool_mark(const struct front_stream *stream)
{
    return sg_stream_mark(stream->stream);
}

static bool call_mempool_passed(const void *mark)
{
    return ((const struct sg_mark *)mark)->done;
}

static CUresult call_mempool_wait(const struct front_stream *stream, void *mark)
{
    return sg_stream_follow(stream->stream, mark);
}

static void call_mempool_drop(void *mark)
{
    sg_mark_drop(mark);
}

/* ---- for other processes */

_Static_assert(sizeof(struct sg_ipc_handle) <= FRONT_MEMPOOL_SHARED, "it travels so");

static CUresult call_mempool_share(CUdevice device, uint64_t address, uint64_t bytes,
                                   uint8_t shared[FRONT_MEMPOOL_SHARED])
{
    struct sg_ipc_handle handle;
    (void)device;
    (void)bytes;
    CUresult rc = sg_ipc_export(sg_range_find(address), &handle);
    if (rc == CUDA_SUCCESS) {
        memset(shared, 0, FRONT_MEMPOOL_SHARED);
        memcpy(shared, &handle, sizeof handle);
    }
    return rc;
}

static CUresult call_mempool_open(CUdevice device, const uint8_t shared[FRONT_MEMPOOL_SHARED],
                                  uint64_t *address, uint64_t *bytes)
{
    struct sg_ipc_handle handle;
    struct sg_range *range;
    memcpy(&handle, shared, sizeof handle);
    CUresult rc = sg_ipc_import_pooled(sg_device_at(device), &handle, &range);
    if (rc == CUDA_SUCCESS) {
        *address = range->span.base;
        *bytes = range->span.bytes;
    }
    return rc;
}

const struct front_mempool_host sg_call_mempool = {
    .enter = sg_enter_process,
    .enter_stream = call_mempool_enter_stream,
    .leave = call_mempool_leave,
    .map = call_mempool_map,
    .unmap = call_mempool_unmap,
    .access = call_mempool_access,
    .mark = call_mempool_mark,
    .passed = call_mempool_passed,
    .wait = call_mempool_wait,
    .drop = call_mempool_drop,
    .share = call_mempool_share,
    .open = call_mempool_open,
};
