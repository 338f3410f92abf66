/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAlloc. Up to 1 MiB: part of a slab (one chunk of 2 MiB, divided into units of 512 bytes).
 * Above: chunks of its own, followed by reserved address space, so that an access beyond the end is
 * found. A slab returns to the device with its last allocation, so cuMemGetInfo is exact. */
#include "softgpu/memory/heap.h"

#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ipc.h"
#include "softgpu/memory/kept.h"
#include "softgpu/memory/peer_access.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/memory/vmm.h"

#include <stdlib.h>
#include <string.h>

#include "front/front.h"

#define HEAP_UNITS       ((unsigned)(SG_CHUNK_BYTES / SG_ALLOC_ALIGN))
#define HEAP_SMALL_BYTES API_EXTENT_SMALL

_Static_assert(SG_CHUNK_BYTES == API_EXTENT_CHUNK, "what it takes is what is charged");

struct sg_slab {
    struct ga_list link;
    struct sg_device *device;
    uint64_t base; /* all of [base, base + 2 * chunk): the second half stays empty */
    uint32_t chunk;
    struct sg_shared_chunks shared;
    unsigned used; /* units */
    uint64_t taken[HEAP_UNITS / 64];
};

/* Reserves address space and maps the chunks at its beginning. `wish`: where; 0: anywhere. */
static CUresult heap_map(struct sg_device *device, uint64_t wish, const uint32_t *chunks,
                         uint32_t count, uint64_t space_bytes, uint64_t *base)
{
    if (sg_space_reserve(wish, space_bytes, SG_CHUNK_BYTES, base) != GA_OK) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (wish != 0 && *base != wish) {
        sg_space_release(*base, space_bytes);
        return CUDA_ERROR_ALREADY_ACQUIRED;
    }
    if (sg_physical_map(&device->memory, chunks, count, *base) != GA_OK) {
        sg_space_release(*base, space_bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* `wish`: its base; 0: anywhere. */
static CUresult slab_make(struct sg_device *device, uint64_t wish, struct sg_slab **made)
{
    struct sg_slab *slab = calloc(1, sizeof *slab);
    sg_vmm_sweep();
    if (slab == NULL || sg_physical_take(&device->memory, 1, &slab->chunk) != GA_OK) {
        free(slab);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = heap_map(device, wish, &slab->chunk, 1, 2 * SG_CHUNK_BYTES, &slab->base);
    if (rc != CUDA_SUCCESS) {
        sg_physical_give(&device->memory, &slab->chunk, 1, NULL);
        free(slab);
        return rc;
    }
    slab->device = device;
    ga_list_append(&device->slabs, &slab->link);
    *made = slab;
    return CUDA_SUCCESS;
}

static void slab_drop(struct sg_slab *slab)
{
    ga_list_remove(&slab->link);
    sg_space_release(slab->base, 2 * SG_CHUNK_BYTES);
    sg_physical_give(&slab->device->memory, &slab->chunk, 1, &slab->shared);
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

static void small_enter(struct sg_range *range, struct sg_slab *slab, unsigned first)
{
    heap_slab_mark(slab, first, heap_units(range->span.bytes), true);
    range->kind = SG_RANGE_SMALL;
    range->slab = slab;
    range->span.base = slab->base + (uint64_t)first * SG_ALLOC_ALIGN;
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
        CU_TRY(slab_make(device, 0, &found));
        first = 0;
    }
    small_enter(range, found, first);
    return CUDA_SUCCESS;
}

static CUresult small_place(struct sg_device *device, struct sg_range *range, uint64_t address)
{
    uint64_t base = address & ~(SG_CHUNK_BYTES - 1);
    unsigned first = (unsigned)((address - base) / SG_ALLOC_ALIGN);
    unsigned count = heap_units(range->span.bytes);
    struct sg_slab *found = NULL;
    if (address % SG_ALLOC_ALIGN != 0 || count > HEAP_UNITS - first) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    ga_list_each (at, following, &device->slabs) {
        struct sg_slab *slab = ga_container(at, struct sg_slab, link);
        found = slab->base == base ? slab : found;
    }
    for (unsigned unit = first; found != NULL && unit < first + count; unit++) {
        if (slab_taken(found, unit)) {
            return CUDA_ERROR_ALREADY_ACQUIRED;
        }
    }
    if (found == NULL) {
        CU_TRY(slab_make(device, base, &found));
    }
    small_enter(range, found, first);
    return CUDA_SUCCESS;
}

/* `wish`: its address; 0: anywhere. */
static CUresult large_alloc(struct sg_device *device, struct sg_range *range, uint64_t wish)
{
    uint64_t chunks = (range->span.bytes + SG_CHUNK_BYTES - 1) / SG_CHUNK_BYTES;
    if (chunks > device->memory.total) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (wish % SG_CHUNK_BYTES != 0) {
        return CUDA_ERROR_INVALID_VALUE;
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
    CUresult rc = heap_map(device, wish, range->chunks, range->chunk_count, range->space_bytes,
                           &range->space_base);
    if (rc != CUDA_SUCCESS) {
        sg_physical_give(&device->memory, range->chunks, range->chunk_count, NULL);
        free(range->chunks);
        return rc;
    }
    range->span.base = range->space_base;
    return CUDA_SUCCESS;
}

/* Whether anything but kept places is in the slab. */
static bool slab_lives(const struct sg_slab *slab)
{
    const struct sg_spans *ranges = &sg_memory.ranges;
    size_t i = sg_spans_index(ranges, slab->base);
    return i < ranges->count && ranges->items[i]->base < slab->base + SG_CHUNK_BYTES;
}

/* Gives a kept place memory of another device; that of a slab concerns all places in it. */
static CUresult kept_move(struct sg_range *kept, struct sg_device *device)
{
    struct sg_slab *slab = kept->kind == SG_RANGE_SMALL ? kept->slab : NULL;
    uint32_t *old = slab != NULL ? &slab->chunk : kept->chunks;
    uint32_t count = slab != NULL ? 1 : kept->chunk_count;
    uint64_t base = slab != NULL ? slab->base : kept->space_base;
    if (slab != NULL && slab_lives(slab)) {
        return CUDA_ERROR_ALREADY_ACQUIRED;
    }
    uint32_t *chunks = malloc(count * sizeof *chunks);
    if (chunks == NULL || sg_physical_take(&device->memory, count, chunks) != GA_OK) {
        free(chunks);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    bool mapped = sg_physical_map(&device->memory, chunks, count, base) == GA_OK;
    if (mapped) {
        sg_physical_give(&kept->device->memory, old, count,
                         slab != NULL ? &slab->shared : &kept->shared);
    } else {
        sg_physical_give(&device->memory, chunks, count, NULL);
    }
    if (!mapped) { /* which has unmapped the old ones */
        (void)!sg_physical_map(&kept->device->memory, old, count, base);
    }
    if (mapped) {
        memcpy(old, chunks, count * sizeof *chunks);
        sg_kept_move(base, count * SG_CHUNK_BYTES, device);
        kept->device = device;
    }
    if (mapped && slab != NULL) {
        slab->device = device;
        ga_list_remove(&slab->link);
        ga_list_append(&device->slabs, &slab->link);
    }
    free(chunks);
    return mapped ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Takes the memory of the range that was at this address. CUDA_ERROR_NOT_FOUND: there is none of
 * this size. */
static CUresult kept_use(struct sg_device *device, struct sg_range *range, uint64_t address)
{
    struct sg_range *kept = sg_kept_take(address);
    if (kept == NULL) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (kept->device == NULL || kept->span.bytes != range->span.bytes) {
        sg_kept_return(kept);
        return CUDA_ERROR_NOT_FOUND;
    }
    CUresult rc = kept->device != device ? kept_move(kept, device) : CUDA_SUCCESS;
    if (rc != CUDA_SUCCESS) {
        (void)sg_kept_store(kept); /* the set has just had room for it */
        return rc;
    }
    range->kept = true;
    range->span = kept->span;
    range->kind = kept->kind;
    range->slab = kept->slab;
    range->chunks = kept->chunks;
    range->chunk_count = kept->chunk_count;
    range->space_base = kept->space_base;
    range->space_bytes = kept->space_bytes;
    range->shared = kept->shared;
    free(kept);
    return CUDA_SUCCESS;
}

static CUresult alloc(struct sg_device *device, struct sg_range *range, uint64_t address)
{
    bool small = range->span.bytes <= HEAP_SMALL_BYTES;
    CUresult rc = address != 0 ? kept_use(device, range, address) : CUDA_ERROR_NOT_FOUND;
    if (rc != CUDA_ERROR_NOT_FOUND) {
        return rc;
    }
    if (!small) {
        return large_alloc(device, range, address);
    }
    return address == 0 ? small_alloc(device, range) : small_place(device, range, address);
}

const uint32_t *sg_heap_chunks(const struct sg_range *range, uint32_t *count, uint64_t *base)
{
    bool small = range->kind == SG_RANGE_SMALL;
    *count = small ? 1 : range->chunk_count;
    *base = small ? range->slab->base : range->space_base;
    return small ? &range->slab->chunk : range->chunks;
}

struct sg_shared_chunks *sg_heap_shared(struct sg_range *range)
{
    return range->kind == SG_RANGE_SMALL ? &range->slab->shared : &range->shared;
}

uint64_t sg_heap_spare(const struct sg_device *device)
{
    uint64_t units = 0;
    ga_list_each (at, following, &device->slabs) {
        units += HEAP_UNITS - ga_container(at, struct sg_slab, link)->used;
    }
    return units * SG_ALLOC_ALIGN;
}

void sg_heap_return(struct sg_range *range)
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
        sg_physical_give(&range->device->memory, range->chunks, range->chunk_count, &range->shared);
        free(range->chunks);
    }
    free(range);
}

CUresult sg_heap_alloc_at(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                          uint64_t address, struct sg_range **range)
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
    CUresult rc = alloc(device, made, address);
    if (rc == CUDA_ERROR_OUT_OF_MEMORY && context != NULL) { /* NULL: a pool asks */
        (void)front_mempool_release((CUdevice)device->ordinal);
        rc = alloc(device, made, address);
    }
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    if (sg_range_enter(made) != GA_OK) {
        sg_heap_return(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *range = made;
    return CUDA_SUCCESS;
}

CUresult sg_heap_alloc(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                       struct sg_range **range)
{
    return sg_heap_alloc_at(device, context, bytes, 0, range);
}

void sg_heap_free(struct sg_range *range)
{
    sg_ipc_withdraw(range);
    sg_range_leave(range);
    ga_list_remove(&range->in_context);
    if (!sg_kept_store(range)) {
        sg_heap_return(range);
    }
}
