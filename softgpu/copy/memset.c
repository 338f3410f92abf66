/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemset: rows of elements of 1, 2 or 4 bytes. */
#include "softgpu/copy/memset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/range.h"
#include "base/log.h"
#include "front/front.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/streams.h"

struct fill {
    struct sg_item item; /* first */
    struct sg_fill_shape shape;
};

static void row_fill(char *to, const struct sg_fill_shape *shape)
{
    uint64_t count = shape->width;
    uint32_t value = shape->value;
    if (shape->element == 1) {
        memset(to, (int)(value & 0xff), count);
    } else if (shape->element == 2) {
        uint16_t *at = (uint16_t *)(void *)to;
        for (uint64_t i = 0; i < count; i++) {
            at[i] = (uint16_t)value;
        }
    } else {
        uint32_t *at = (uint32_t *)(void *)to;
        for (uint64_t i = 0; i < count; i++) {
            at[i] = value;
        }
    }
}

/* UINT64_MAX on overflow: no range is that long. */
static uint64_t fill_extent(const struct sg_fill_shape *shape)
{
    return api_range_pitched(shape->pitch, api_range_times(shape->width, shape->element),
                             shape->height);
}

static CUresult fill_run(struct sg_item *item)
{
    const struct sg_fill_shape *shape = &ga_container(item, struct fill, item)->shape;
    item->demand = model_timing_fill(&item->stream->context->device->config,
                                     shape->width * shape->element * shape->height);
    struct sg_range *range;
    sg_lock();
    enum sg_place place = sg_place_of(shape->to, fill_extent(shape), SG_MAP_WRITE, &range);
    sg_unlock();
    if (place != SG_PLACE_DEVICE && place != SG_PLACE_HOST) {
        ga_error("softgpu: memset at 0x%" PRIx64 ": memory was taken away before it ran",
                 shape->to);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (uint64_t row = 0; row < shape->height; row++) {
        row_fill((char *)(uintptr_t)(shape->to + row * shape->pitch), shape);
    }
    return CUDA_SUCCESS;
}

/* NULL with CUDA_SUCCESS: there is nothing to fill. */
static CUresult memset_make(const struct sg_fill_shape *shape, struct sg_item **item,
                            struct sg_range **range, enum sg_place *place)
{
    uint64_t row = api_range_times(shape->width, shape->element);
    *item = NULL;
    if (shape->to % shape->element != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (shape->width == 0 || shape->height == 0) {
        return CUDA_SUCCESS;
    }
    if (!api_range_rows_apart(shape->pitch, row, shape->height, shape->element)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *place = sg_place_named(shape->to, fill_extent(shape), SG_MAP_WRITE, range);
    if (*place != SG_PLACE_DEVICE && *place != SG_PLACE_HOST) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct fill *fill = sg_item_make(sizeof *fill, GPU_COMPUTE, fill_run);
    if (fill == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    fill->shape = *shape;
    fill->item.note = (struct sg_note){
        .name = "fill", .unit = "bytes", .amount = shape->width * shape->element * shape->height};
    *item = &fill->item;
    return CUDA_SUCCESS;
}

CUresult sg_fill_make(const struct sg_fill_shape *shape, struct sg_item **item)
{
    struct sg_range *range;
    enum sg_place place;
    return memset_make(shape, item, &range, &place);
}

CUresult sg_fill_submit(struct sg_stream *stream, const struct sg_fill_shape *shape, bool async)
{
    struct sg_item *item;
    struct sg_range *range;
    enum sg_place place;
    CUresult rc = memset_make(shape, &item, &range, &place);
    if (rc != CUDA_SUCCESS || item == NULL) {
        return rc;
    }
    if (!async && (place == SG_PLACE_HOST || range->sync_memops ||
                   (stream->context->flags & FRONT_CTX_SYNC_MEMOPS) != 0)) {
        return sg_submit_wait(stream, item);
    }
    sg_submit(stream, item);
    return CUDA_SUCCESS;
}
