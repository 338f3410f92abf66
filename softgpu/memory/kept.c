/* SPDX-License-Identifier: Apache-2.0 */
/* Kept places. A range whose place is kept keeps its memory as well when it is freed: it only
 * leaves the set of ranges and loses all rights. */
#include "softgpu/memory/kept.h"

#include "softgpu/memory/heap.h"
#include "softgpu/memory/host_memory.h"
#include "softgpu/memory/ranges.h"

static struct sg_spans freed; /* struct sg_range */

CUresult sg_kept_begin(uint64_t address)
{
    struct sg_range *range = sg_range_find(address);
    bool heap = range != NULL && (range->kind == SG_RANGE_SMALL || range->kind == SG_RANGE_LARGE);
    if (range == NULL || range->span.base != address || range->pooled ||
        !(heap || range->variable)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    range->kept = true;
    return CUDA_SUCCESS;
}

void sg_kept_end(uint64_t address)
{
    struct sg_range *gone = sg_kept_take(address);
    struct sg_range *range = sg_range_find(address);
    if (gone != NULL) {
        sg_kept_return(gone);
    } else if (range != NULL && range->span.base == address) {
        range->kept = false;
    }
}

bool sg_kept_store(struct sg_range *range)
{
    return range->kept && sg_spans_insert(&freed, &range->span) == GA_OK;
}

struct sg_range *sg_kept_take(uint64_t address)
{
    struct sg_span *span = sg_spans_find(&freed, address);
    if (span == NULL || span->base != address) {
        return NULL;
    }
    sg_spans_remove(&freed, span);
    return (struct sg_range *)span;
}

void sg_kept_move(uint64_t base, uint64_t bytes, struct sg_device *device)
{
    for (size_t i = sg_spans_index(&freed, base);
         i < freed.count && freed.items[i]->base < base + bytes; i++) {
        ((struct sg_range *)freed.items[i])->device = device;
    }
}

void sg_kept_return(struct sg_range *range)
{
    if (range->device != NULL) {
        sg_heap_return(range);
    } else {
        sg_host_return(range);
    }
}
