/* Copies. The addresses are checked when the call is made, and again when its turn comes: memory
 * may have been unmapped meanwhile, which is an execution fault then. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/range.h"
#include "base/log.h"
#include "softgpu/process.h"
#include "softgpu/work.h"

/* Up to this many bytes a pageable source is staged, so that an asynchronous call need not wait. */
#define STAGE_BYTES ((uint64_t)1 << 20)

struct copy {
    struct sg_item item; /* first */
    struct sg_copy_shape shape;
    bool to_checked, from_checked; /* lies in a range: check again before it runs */
    void *stage;                   /* owned; the source's bytes, packed */
};

uint64_t sg_extent(uint64_t pitch, uint64_t width, uint64_t height)
{
    return api_range_pitched(pitch, width, height);
}

static bool still_there(uint64_t address, uint64_t bytes, unsigned rights)
{
    struct sg_range *range;
    enum sg_place place = sg_place_of(address, bytes, rights, &range);
    return place == SG_PLACE_DEVICE || place == SG_PLACE_HOST;
}

static bool copy_valid(const struct copy *copy)
{
    const struct sg_copy_shape *shape = &copy->shape;
    sg_lock();
    bool valid =
        (!copy->to_checked ||
         still_there(shape->to, sg_extent(shape->to_pitch, shape->width, shape->height),
                     SG_MAP_WRITE)) &&
        (!copy->from_checked ||
         still_there(shape->from, sg_extent(shape->from_pitch, shape->width, shape->height),
                     SG_MAP_READ));
    sg_unlock();
    return valid;
}

static CUresult copy_run(struct sg_item *item)
{
    struct copy *copy = ga_container(item, struct copy, item);
    const struct sg_copy_shape *shape = &copy->shape;
    if (!copy_valid(copy)) {
        ga_error("softgpu: copy of %" PRIu64 " x %" PRIu64 " bytes from 0x%" PRIx64 " to 0x%" PRIx64
                 ": memory was taken away before the copy ran",
                 shape->height, shape->width, shape->from, shape->to);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    char *to = (char *)(uintptr_t)shape->to;
    const char *from = copy->stage != NULL ? copy->stage : (const char *)(uintptr_t)shape->from;
    if (shape->to_pitch == shape->width && shape->from_pitch == shape->width) {
        memmove(to, from, shape->width * shape->height);
        return CUDA_SUCCESS;
    }
    for (uint64_t row = 0; row < shape->height; row++) {
        memmove(to + row * shape->to_pitch, from + row * shape->from_pitch, shape->width);
    }
    return CUDA_SUCCESS;
}

static void copy_drop(struct sg_item *item)
{
    free(ga_container(item, struct copy, item)->stage);
}

/* Replaces the source by a packed copy of it. */
static bool copy_stage(struct copy *copy)
{
    struct sg_copy_shape *shape = &copy->shape;
    char *stage = malloc(shape->width * shape->height);
    if (stage == NULL) {
        return false;
    }
    for (uint64_t row = 0; row < shape->height; row++) {
        memcpy(stage + row * shape->width,
               (const char *)(uintptr_t)shape->from + row * shape->from_pitch, shape->width);
    }
    copy->stage = stage;
    shape->from_pitch = shape->width;
    return true;
}

/* Where one side lies, if that fits what the call says. */
static CUresult side_check(uint64_t address, uint64_t bytes, unsigned rights, enum sg_side side,
                           enum sg_place *place, bool *sync_memops)
{
    struct sg_range *range;
    *place = sg_place_of(address, bytes, rights, &range);
    *sync_memops |= range != NULL && range->sync_memops;
    bool wrong = *place == SG_PLACE_WRONG || address == 0 ||
                 (side == SG_SIDE_DEVICE && *place == SG_PLACE_PAGEABLE) ||
                 (side == SG_SIDE_HOST && *place == SG_PLACE_DEVICE);
    return wrong ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static enum sg_engine_kind copy_engine(enum sg_place to, enum sg_place from)
{
    if (to == SG_PLACE_DEVICE) {
        return from == SG_PLACE_DEVICE ? SG_ENGINE_COMPUTE : SG_ENGINE_H2D;
    }
    return SG_ENGINE_D2H;
}

/* Must the caller wait for this copy? */
static bool copy_waits(struct copy *copy, enum sg_place to, enum sg_place from, bool async)
{
    bool device_only = to == SG_PLACE_DEVICE && from == SG_PLACE_DEVICE;
    if (!async) {
        return !device_only;
    }
    if (to == SG_PLACE_PAGEABLE || (to != SG_PLACE_DEVICE && from != SG_PLACE_DEVICE)) {
        return true;
    }
    if (from != SG_PLACE_PAGEABLE) {
        return false;
    }
    return copy->shape.width * copy->shape.height > STAGE_BYTES || !copy_stage(copy);
}

CUresult sg_copy_submit(struct sg_stream *stream, const struct sg_copy_shape *shape,
                        enum sg_side to_side, enum sg_side from_side, bool async)
{
    if (shape->width == 0 || shape->height == 0) {
        return CUDA_SUCCESS;
    }
    enum sg_place to, from;
    bool sync_memops = false;
    CUresult result = side_check(shape->to, sg_extent(shape->to_pitch, shape->width, shape->height),
                                 SG_MAP_WRITE, to_side, &to, &sync_memops);
    if (result == CUDA_SUCCESS) {
        result = side_check(shape->from, sg_extent(shape->from_pitch, shape->width, shape->height),
                            SG_MAP_READ, from_side, &from, &sync_memops);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct copy *copy = sg_item_make(sizeof *copy, copy_engine(to, from), copy_run);
    if (copy == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    copy->item.drop = copy_drop;
    copy->shape = *shape;
    bool waits = sync_memops || copy_waits(copy, to, from, async);
    copy->to_checked = to != SG_PLACE_PAGEABLE;
    copy->from_checked = from != SG_PLACE_PAGEABLE && copy->stage == NULL;
    if (waits) {
        return sg_submit_wait(stream, &copy->item);
    }
    sg_submit(stream, &copy->item);
    return CUDA_SUCCESS;
}
