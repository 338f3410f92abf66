/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a pointer. */
#include "softgpu/calls/pointer.h"

#include <string.h>

#include "softgpu/calls/call.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ipc.h"
#include "softgpu/memory/ranges.h"

static CUdevice range_ordinal(const struct sg_range *range)
{
    if (range->device != NULL) {
        return (CUdevice)range->device->ordinal;
    }
    return range->context != NULL ? (CUdevice)range->context->device->ordinal : 0;
}

bool sg_call_pointer(uint64_t address, struct front_pointer *pointer)
{
    sg_lock();
    const struct sg_range *range = sg_range_find(address);
    bool known = range != NULL;
    if (range != NULL) {
        CUdevice ordinal = range_ordinal(range);
        *pointer = (struct front_pointer){
            .device = range->device != NULL || range->kind == SG_RANGE_MANAGED,
            .on_device = true,
            .managed = range->kind == SG_RANGE_MANAGED,
            .sync_memops = range->sync_memops,
            .ipc = sg_ipc_capable(range),
            .read_only = range->rights[ordinal] == SG_MAP_READ,
            .context = range->context != NULL ? (CUcontext)(uintptr_t)range->context->handle : NULL,
            .ordinal = ordinal,
            .start = range->span.base,
            .bytes = range->span.bytes,
            .id = range->id};
        if (range->pooled) {
            struct front_mempool_found found;
            known = front_mempool_find(address, &found);
            pointer->pool = found.pool;
            pointer->start = found.start;
            pointer->bytes = found.bytes;
            pointer->id = found.id | UINT64_C(1)
                                         << 63; /* distinct from the identifiers of ranges */
        }
    }
    sg_unlock();
    return known;
}

CUresult sg_call_sync_memops(uint64_t address, bool on)
{
    sg_lock();
    struct sg_range *range = sg_range_find(address);
    if (range != NULL) {
        range->sync_memops = on;
    }
    return sg_leave(range != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

bool sg_call_settles(uint64_t address, bool written)
{
    sg_lock();
    const struct sg_range *range = sg_range_find(address);
    const struct sg_context *context = sg_context_find(front_context_current());
    bool host = range != NULL && range->device == NULL;
    bool settles = (host && written) || (range != NULL && range->sync_memops) ||
                   (context != NULL && (context->flags & FRONT_CTX_SYNC_MEMOPS) != 0);
    sg_unlock();
    return settles;
}
