/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAlloc. Up to 1 MiB: part of a slab (one chunk of 2 MiB, divided into units of 512 bytes).
 * Above: chunks of its own, followed by reserved address space, so that an access beyond the end is
 * found. A slab returns to the device with its last allocation, so cuMemGetInfo is exact. */
#include "softgpu/memory/heap.h"

#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ipc.h"
#include "softgpu/memory/peer_access.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/memory/vmm.h"

#include <stdlib.h>
#include <string.h>

#include "front/front.h"

#define HEAP_UNITS       ((unsigned)(SG_CHUNK_BYTES / SG_ALLOC_ALIGN))
#define HEAP_SMALL_BYTES ((uint64_t)1 << 20)

struct sg_slab {
    struct ga_list link;
    struct sg_device *device;
    uint64_t base; /* all of [base, base + 2 * chunk): the second half stays empty */
    uint32_t chunk;
    unsigned used; /* units */
    uint64_t taken[HEAP_UNITS / 64];
};

static struct sg_slab *slab_make(struct sg_device *device)
{
    struct sg_slab *slab = calloc(1, sizeof *slab);
    sg_vmm_sweep();
    if (slab == NULL || sg_physical_take(&device->memory, 1, &slab->chunk) != GA_OK) {
        free(slab);
        return NULL;
    }
    if (sg_space_reserve(0, 2 * SG_CHUNK_BYTES, SG_CHUNK_BYTES, &slab->base) != GA_OK) {
        sg_physical_give(&device->memory, &slab->chunk, 1);
        free(slab);
        return NULL;
    }
    if (sg_physical_map(&device->memory, &slab->chunk, 1, slab->base) != GA_OK) {
        sg_space_release(slab->base, 2 * SG_CHUNK_BYTES);
        sg_physical_give(&device->memory, &slab->chunk, 1);
        free(slab);
        return NULL;
    }
    slab->device = device;
    ga_list_append(&device->slabs, &slab->link);
    return slab;
}

static void slab_drop(struct sg_slab *slab)
{
    ga_list_remove(&slab->link);
    sg_space_release(slab->base, 2 * SG_CHUNK_BYTES);
    sg_physical_give(&slab->device->memory, &slab->chunk, 1);
    free(slab);
}

static bool slab_taken(const struct sg_slab *slab, unsigned unit)
{
    return slab->taken[unit / 64] >> (unit % 64) & 1;
}

/* The first unit of a free run of `count`, or HEAP_UNITS. */
static unsigned slab_search(const struct sg_slab *slab, unsigned count)
{
    if (HEAP_UNITS - slab->used < count) {
        return HEAP_UNITS;
    }
    unsigned run = 0;
    for (unsigned unit = 0; unit < HEAP_UNITS; unit++) {
        if (unit % 64 == 0 && slab->taken[unit / 64] == UINT64_MAX) {
            run = 0;
            unit += 63;
            continue;
        }
        run = slab_taken(slab, unit) ? 0 : run + 1;
        if (run == count) {
            return unit + 1 - count;
        }
    }
    return HEAP_UNITS;
}

static void heap_slab_mark(struct sg_slab *slab, unsigned first, unsigned count, bool taken)
{
    for (unsigned unit = first; unit < first + count; unit++) {
        uint64_t bit = UINT64_C(1) << (unit % 64);
        slab->taken[unit / 64] =
            taken ? slab->taken[unit / 64] | bit : slab->taken[unit / 64] & ~bit;
    }
    slab->used = taken ? slab->used + count : slab->used - count;
}

static unsigned heap_units(uint64_t bytes)
{
    return (unsigned)((bytes + SG_ALLOC_ALIGN - 1) / SG_ALLOC_ALIGN);
}

static CUresult small_alloc(struct sg_device *device, struct sg_range *range)
{
    unsigned count = heap_units(range->span.bytes);
    struct sg_slab *found = NULL;
    unsigned first = HEAP_UNITS;
    ga_list_each (at, following, &device->slabs) {
        found = ga_container(at, struct sg_slab, link);
        first = slab_search(found, count);
        if (first != HEAP_UNITS) {
            break;
        }
    }
    if (first == HEAP_UNITS) {
        found = slab_make(device);
        if (found == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        first = 0;
    }
    heap_slab_mark(found, first, count, true);
    range->kind = SG_RANGE_SMALL;
    range->slab = found;
    range->span.base = found->base + (uint64_t)first * SG_ALLOC_ALIGN;
    return CUDA_SUCCESS;
}

static CUresult large_alloc(struct sg_device *device, struct sg_range *range)
{
    uint64_t chunks = (range->span.bytes + SG_CHUNK_BYTES - 1) / SG_CHUNK_BYTES;
    if (chunks > device->memory.total) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sg_vmm_sweep();
    range->kind = SG_RANGE_LARGE;
    range->chunk_count = (uint32_t)chunks;
    range->chunks = malloc(chunks * sizeof *range->chunks);
    range->space_bytes = (chunks + 1) * SG_CHUNK_BYTES;
    if (range->chunks == NULL ||
        sg_physical_take(&device->memory, range->chunk_count, range->chunks) != GA_OK) {
        free(range->chunks);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (sg_space_reserve(0, range->space_bytes, SG_CHUNK_BYTES, &range->space_base) == GA_OK) {
        if (sg_physical_map(&device->memory, range->chunks, range->chunk_count,
                            range->space_base) == GA_OK) {
            range->span.base = range->space_base;
            return CUDA_SUCCESS;
        }
        sg_space_release(range->space_base, range->space_bytes);
    }
    sg_physical_give(&device->memory, range->chunks, range->chunk_count);
    free(range->chunks);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult alloc(struct sg_device *device, struct sg_range *range)
{
    return range->span.bytes <= HEAP_SMALL_BYTES ? small_alloc(device, range)
                                                 : large_alloc(device, range);
}

const uint32_t *sg_heap_chunks(const struct sg_range *range, uint32_t *count, uint64_t *base)
{
    bool small = range->kind == SG_RANGE_SMALL;
    *count = small ? 1 : range->chunk_count;
    *base = small ? range->slab->base : range->space_base;
    return small ? &range->slab->chunk : range->chunks;
}

static void heap_release(struct sg_range *range)
{
    if (range->kind == SG_RANGE_SMALL) {
        struct sg_slab *slab = range->slab;
        unsigned first = (unsigned)((range->span.base - slab->base) / SG_ALLOC_ALIGN);
        heap_slab_mark(slab, first, heap_units(range->span.bytes), false);
        if (slab->used == 0) {
            slab_drop(slab);
        }
    } else { /* an imported range has no chunks of ours */
        sg_space_release(range->space_base, range->space_bytes);
        sg_physical_give(&range->device->memory, range->chunks, range->chunk_count);
        free(range->chunks);
    }
    free(range);
}

CUresult sg_heap_alloc(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                       struct sg_range **range)
{
    if (bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes > (uint64_t)device->memory.total * SG_CHUNK_BYTES) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct sg_range *made = sg_range_make();
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->span.bytes = bytes;
    made->device = device;
    made->context = context;
    made->rights[device->ordinal] = SG_MAP_READ | SG_MAP_WRITE;
    if (context != NULL) {
        sg_peer_rights(context, made->rights);
    }
    ga_list_init(&made->in_context);
    CUresult rc = alloc(device, made);
    if (rc == CUDA_ERROR_OUT_OF_MEMORY && context != NULL) { /* NULL: a pool asks */
        (void)front_mempool_release((CUdevice)device->ordinal);
        rc = alloc(device, made);
    }
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    if (sg_range_enter(made) != GA_OK) {
        heap_release(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *range = made;
    return CUDA_SUCCESS;
}

void sg_heap_free(struct sg_range *range)
{
    sg_ipc_withdraw(range);
    sg_range_leave(range);
    ga_list_remove(&range->in_context);
    heap_release(range);
}
