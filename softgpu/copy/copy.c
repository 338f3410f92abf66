/* SPDX-License-Identifier: Apache-2.0 */
/* Copies. The addresses are checked in the call and again before the copy runs: memory may have
 * been unmapped meanwhile, which is an execution fault. */
#include "softgpu/copy/copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "front/front.h"
#include "softgpu/copy/copy_order.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/node/time_slices.h"
#include "softgpu/process/process.h"

/* A pageable source of up to this many bytes is staged, so that an asynchronous call need not
 * wait. */
#define STAGE_BYTES ((uint64_t)1 << 20)
#define PART_BYTES  ((uint64_t)4 << 20)

struct copy {
    struct sg_item item; /* first */
    struct front_box box;
    bool to_checked, from_checked; /* in a range: checked again before it runs */
    bool pageable;                 /* one side is pageable */
    void *stage;                   /* owned; the packed bytes of the source */
};

static bool still_there(uint64_t address, uint64_t bytes, unsigned rights)
{
    struct sg_range *range;
    enum sg_place place = sg_place_of(address, bytes, rights, &range);
    return place == SG_PLACE_DEVICE || place == SG_PLACE_HOST;
}

static bool copy_valid(const struct copy *copy)
{
    const struct front_box *box = &copy->box;
    sg_lock();
    bool valid = (!copy->to_checked ||
                  still_there(box->to.start, front_box_extent(box, &box->to), SG_MAP_WRITE)) &&
                 (!copy->from_checked ||
                  still_there(box->from.start, front_box_extent(box, &box->from), SG_MAP_READ));
    sg_unlock();
    return valid;
}

static bool packed(const struct front_box *box, const struct front_side *side)
{
    return box->depth == 1 && (side->pitch == box->width || box->height == 1);
}

static void copy_rows(const struct front_box *box, char *to, const char *from)
{
    if (packed(box, &box->to) && packed(box, &box->from)) {
        memmove(to, from, box->width * box->height);
        return;
    }
    for (uint64_t z = 0; z < box->depth; z++) {
        for (uint64_t y = 0; y < box->height; y++) {
            memmove(to + z * box->to.slice + y * box->to.pitch,
                    from + z * box->from.slice + y * box->from.pitch, box->width);
        }
    }
}

/* Large copies go in parts: between two parts other processes may have the engine. */
static void copy_parts(const struct sg_item *item, const struct front_box *box, char *to,
                       const char *from)
{
    struct sg_node_engine *turn = item->stream->context->device->engines[item->engine].turn;
    if (item->engine == GPU_COMPUTE || !packed(box, &box->to) || !packed(box, &box->from)) {
        copy_rows(box, to, from); /* within a device the two sides may overlap */
        return;
    }
    uint64_t bytes = box->width * box->height;
    for (uint64_t at = 0; at < bytes; at += PART_BYTES) {
        if (at != 0 && atomic_load(&turn->waiting) != 0) {
            sg_turn_wait(turn, &sg_process.stop);
        }
        memmove(to + at, from + at, bytes - at < PART_BYTES ? bytes - at : PART_BYTES);
    }
}

static struct model_demand copy_demand(const struct copy *copy)
{
    const struct soft_device *device = &copy->item.stream->context->device->config;
    unsigned engine = copy->item.engine;
    uint64_t bytes = copy->box.width * copy->box.height * copy->box.depth;
    return engine == GPU_COMPUTE ? model_timing_fill(device, 2 * bytes)
                                 : model_timing_copy(device, engine == GPU_H2D ? GPU_H2D : GPU_D2H,
                                                     bytes, copy->pageable);
}

static CUresult copy_run(struct sg_item *item)
{
    struct copy *copy = ga_container(item, struct copy, item);
    const struct front_box *box = &copy->box;
    if (!copy_valid(copy)) {
        ga_error("softgpu: copy of %" PRIu64 " x %" PRIu64 " x %" PRIu64 " bytes from 0x%" PRIx64
                 " to 0x%" PRIx64 ": memory was taken away before the copy ran",
                 box->depth, box->height, box->width, box->from.start, box->to.start);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    item->demand = copy_demand(copy);
    copy_parts(item, box, (char *)(uintptr_t)box->to.start,
               copy->stage != NULL ? copy->stage : (const char *)(uintptr_t)box->from.start);
    return CUDA_SUCCESS;
}

static void copy_drop(struct sg_item *item)
{
    free(ga_container(item, struct copy, item)->stage);
}

/* Replaces the source by a packed copy of it. */
static bool copy_stage(struct copy *copy)
{
    struct front_box box = copy->box;
    char *stage = malloc(box.width * box.height * box.depth);
    if (stage == NULL) {
        return false;
    }
    box.to.pitch = box.width;
    box.to.slice = box.width * box.height;
    copy_rows(&box, stage, (const char *)(uintptr_t)box.from.start);
    copy->stage = stage;
    copy->item.bytes += box.width * box.height * box.depth;
    copy->box.from.pitch = box.to.pitch;
    copy->box.from.slice = box.to.slice;
    return true;
}

/* The kind of memory of one side, if it is the one that the call names. */
static CUresult copy_side_check(const struct front_box *box, const struct front_side *side,
                                unsigned rights, enum sg_place *place,
                                const struct sg_device **device, bool *sync_memops)
{
    struct sg_range *range;
    *place = sg_place_named(side->start, front_box_extent(box, side), rights, &range);
    *device = range != NULL ? range->device : NULL;
    *sync_memops |= range != NULL && range->sync_memops;
    bool wrong = *place == SG_PLACE_WRONG || side->start == 0 ||
                 (side->place == FRONT_DEVICE && *place == SG_PLACE_PAGEABLE) ||
                 (side->place == FRONT_HOST && *place == SG_PLACE_DEVICE);
    return wrong ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static unsigned copy_engine(enum sg_place to, enum sg_place from)
{
    if (to == SG_PLACE_DEVICE) {
        return from == SG_PLACE_DEVICE ? GPU_COMPUTE : GPU_H2D;
    }
    return GPU_D2H;
}

/* Whether the caller must wait for this copy. */
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
    return copy->box.width * copy->box.height * copy->box.depth > STAGE_BYTES || !copy_stage(copy);
}

/* Both sides after the checks. */
struct places {
    enum sg_place to, from;
    const struct sg_device *devices[2]; /* of the memory; NULL: host memory */
    bool sync_memops;
};

static CUresult places_find(const struct front_box *box, struct places *places)
{
    places->sync_memops = false;
    CUresult rc = copy_side_check(box, &box->to, SG_MAP_WRITE, &places->to, &places->devices[0],
                                  &places->sync_memops);
    return rc == CUDA_SUCCESS ? copy_side_check(box, &box->from, SG_MAP_READ, &places->from,
                                                &places->devices[1], &places->sync_memops)
                              : rc;
}

static const char *copy_name(unsigned engine)
{
    return engine == GPU_H2D   ? "copy to the device"
           : engine == GPU_D2H ? "copy to the host"
                               : "copy";
}

static struct copy *copy_new(const struct front_box *box, const struct places *places)
{
    struct copy *copy = sg_item_make(sizeof *copy, copy_engine(places->to, places->from), copy_run);
    if (copy != NULL) {
        copy->item.drop = copy_drop;
        copy->item.note = (struct sg_note){.name = copy_name(copy->item.engine),
                                           .unit = "bytes",
                                           .amount = box->width * box->height * box->depth};
        copy->box = *box;
        copy->to_checked = places->to != SG_PLACE_PAGEABLE;
        copy->from_checked = places->from != SG_PLACE_PAGEABLE;
        copy->pageable = !copy->to_checked || !copy->from_checked;
    }
    return copy;
}

CUresult sg_copy_make(const struct front_box *box, struct sg_item **item)
{
    struct places places;
    *item = NULL;
    CUresult rc = box->width != 0 ? places_find(box, &places) : CUDA_SUCCESS;
    if (rc != CUDA_SUCCESS || box->width == 0) {
        return rc;
    }
    struct copy *copy = copy_new(box, &places);
    if (copy == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *item = &copy->item;
    return CUDA_SUCCESS;
}

static CUresult copy_put(struct sg_stream *stream, const struct front_box *box,
                         const struct places *places, bool async)
{
    struct copy *copy = copy_new(box, places);
    if (copy == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    bool settles =
        !async && (places->sync_memops || (stream->context->flags & FRONT_CTX_SYNC_MEMOPS) != 0);
    if (settles || copy_waits(copy, places->to, places->from, async)) {
        return sg_submit_wait(stream, &copy->item);
    }
    copy->from_checked &= copy->stage == NULL;
    sg_submit(stream, &copy->item);
    return CUDA_SUCCESS;
}

CUresult sg_copy_submit(struct sg_stream *stream, const struct front_box *box, bool async)
{
    if (box->width == 0) {
        return CUDA_SUCCESS;
    }
    struct places places;
    CUresult rc = places_find(box, &places);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_copy_order both;
    rc = sg_copy_order_before(&both, stream, places.devices);
    if (rc == CUDA_SUCCESS) {
        rc = copy_put(stream, box, &places, async);
    }
    return sg_copy_order_after(&both, rc);
}
