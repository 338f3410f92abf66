/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges by address, and the permission maps of the devices. The maps have chunks of 64 KiB; small
 * allocations and registered memory share chunks, so a chunk loses its rights with the last range
 * in it. */
#include "softgpu/memory/ranges.h"

#include <stdlib.h>

#include "front/front.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/heap.h"
#include "softgpu/memory/host_memory.h"
#include "softgpu/process/context.h"
#include "softgpu/process/process.h"

struct sg_memory sg_memory;

struct sg_range *sg_range_make(void)
{
    return calloc(1, sizeof(struct sg_range) + sg_process.device_count);
}

struct sg_range *sg_range_find(uint64_t address)
{
    return (struct sg_range *)sg_spans_find(&sg_memory.ranges, address);
}

/* Whether a range other than `range` uses the chunk of the map with rights for the device. */
static bool chunk_shared(const struct sg_range *range, uint64_t chunk, unsigned ordinal)
{
    const struct sg_spans *ranges = &sg_memory.ranges;
    for (size_t i = sg_spans_index(ranges, chunk);
         i < ranges->count && ranges->items[i]->base < chunk + SG_MAP_CHUNK; i++) {
        const struct sg_range *other = (const struct sg_range *)ranges->items[i];
        if (other != range && other->rights[ordinal] != 0) {
            return true;
        }
    }
    return false;
}

/* Sets the map for the chunks of the range. When rights are taken away, the first and the last
 * chunk keep them if a neighbour uses that chunk, too (inner chunks belong to the range alone). */
static enum ga_status range_map_set(const struct sg_range *range, unsigned ordinal, unsigned rights)
{
    uint64_t first = range->span.base & ~(SG_MAP_CHUNK - 1);
    uint64_t end = (sg_span_end(&range->span) + SG_MAP_CHUNK - 1) & ~(SG_MAP_CHUNK - 1);
    if (rights == 0) {
        if (chunk_shared(range, first, ordinal)) {
            first += SG_MAP_CHUNK;
        }
        if (end > first && chunk_shared(range, end - SG_MAP_CHUNK, ordinal)) {
            end -= SG_MAP_CHUNK;
        }
    }
    if (end <= first) {
        return GA_OK;
    }
    return sg_map_set(sg_process.devices[ordinal].map, first, end - first, rights);
}

enum ga_status sg_range_set_rights(struct sg_range *range, unsigned ordinal, unsigned rights)
{
    if (range->rights[ordinal] == rights) {
        return GA_OK;
    }
    GA_TRY(range_map_set(range, ordinal, rights));
    range->rights[ordinal] = (uint8_t)rights;
    return GA_OK;
}

enum ga_status sg_range_enter(struct sg_range *range)
{
    GA_TRY(sg_spans_insert(&sg_memory.ranges, &range->span));
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        if (range->rights[i] != 0 && range_map_set(range, i, range->rights[i]) != GA_OK) {
            sg_range_leave(range);
            return GA_NO_MEMORY;
        }
    }
    range->id = ++sg_memory.next_id;
    return GA_OK;
}

void sg_range_leave(struct sg_range *range)
{
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        /* Taking rights away needs no memory, so it cannot fail. */
        (void)!sg_range_set_rights(range, i, 0);
    }
    sg_spans_remove(&sg_memory.ranges, &range->span);
}

static bool range_allows(const struct sg_range *range, unsigned rights)
{
    if (range->kind != SG_RANGE_MAPPED) {
        return true;
    }
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        if ((range->rights[i] & rights) == rights) {
            return true;
        }
    }
    return false;
}

/* Whether the address lies in reserved address space: without a mapping nothing can be copied. */
static bool space_reserved(uint64_t address, uint64_t end)
{
    const struct sg_spans *reservations = &sg_memory.reservations;
    size_t i = sg_spans_index(reservations, address);
    return i < reservations->count && reservations->items[i]->base < end;
}

enum sg_place sg_place_of(uint64_t address, uint64_t bytes, unsigned rights,
                          struct sg_range **range)
{
    const struct sg_spans *ranges = &sg_memory.ranges;
    bytes += bytes == 0;
    uint64_t end = address + bytes;
    size_t i = sg_spans_index(ranges, address);
    *range = NULL;
    if (end < address) {
        return SG_PLACE_WRONG;
    }
    if (i == ranges->count || ranges->items[i]->base >= end) {
        return space_reserved(address, end) ? SG_PLACE_WRONG : SG_PLACE_PAGEABLE;
    }
    struct sg_range *first = (struct sg_range *)ranges->items[i];
    if (first->span.base > address) {
        return first->kind == SG_RANGE_REGISTERED ? SG_PLACE_PAGEABLE : SG_PLACE_WRONG;
    }
    if (first->kind == SG_RANGE_REGISTERED && sg_span_end(&first->span) < end) {
        return SG_PLACE_PAGEABLE; /* partly pinned memory counts as pageable */
    }
    struct sg_range *last = first;
    while (range_allows(last, rights) && sg_span_end(&last->span) < end) {
        if (last->kind != SG_RANGE_MAPPED || ++i == ranges->count ||
            ranges->items[i]->base != sg_span_end(&last->span)) {
            return SG_PLACE_WRONG;
        }
        last = (struct sg_range *)ranges->items[i];
        if (last->kind != SG_RANGE_MAPPED) {
            return SG_PLACE_WRONG;
        }
    }
    if (!range_allows(last, rights)) {
        return SG_PLACE_WRONG;
    }
    *range = first;
    return first->device != NULL ? SG_PLACE_DEVICE : SG_PLACE_HOST;
}

enum sg_place sg_place_named(uint64_t address, uint64_t bytes, unsigned rights,
                             struct sg_range **range)
{
    struct front_mempool_found found;
    enum sg_place place = sg_place_of(address, bytes, rights, range);
    if (*range == NULL || !(*range)->pooled) {
        return place;
    }
    bool allocated = front_mempool_find(address, &found) &&
                     (bytes == 0 ? 1 : bytes) <= found.bytes - (address - found.start);
    return allocated ? place : SG_PLACE_WRONG;
}

void sg_memory_drop_context(struct sg_context *context)
{
    while (!ga_list_empty(&context->ranges)) {
        struct sg_range *range = ga_container(context->ranges.next, struct sg_range, in_context);
        if (range->device != NULL) {
            sg_heap_free(range);
        } else {
            sg_host_free(range);
        }
    }
}
