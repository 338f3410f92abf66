/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of handles; txq, suq, istypep. */
#include "softgpu/exec/query.h"

#include "softgpu/engine/texture_objects.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/grid.h"
#include "softgpu/exec/tex.h"

const struct sg_object *sg_tex_object(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                                      uint64_t handle, enum sg_object_kind kind)
{
    const struct sg_object *object = sg_objects_find(warp->block->grid->launch->objects, handle);
    if (object == NULL || object->kind != kind) {
        sg_warp_fault(warp, in, lane, SG_FAULT_ILLEGAL_ADDRESS, handle,
                      kind == SG_OBJECT_TEXTURE ? "not a texture object of this context"
                                                : "not a surface object of this context");
        return NULL;
    }
    return object;
}

uint32_t sg_lanes_agree(const uint64_t *row, uint32_t mask)
{
    const uint64_t first = row[__builtin_ctz(mask)];
    uint64_t differ = 0;
    uint32_t same = 0;
    for (int i = 0; i < SG_LANES; i++) {
        differ |= row[i] ^ first;
    }
    if (differ == 0) {
        return mask;
    }
    for (int i = 0; i < SG_LANES; i++) {
        same |= row[i] == first ? 1u << i : 0;
    }
    return same & mask;
}

/* The number in CUarray_format. */
static uint32_t format_number(const struct sg_texels *texels)
{
    static const uint8_t plain[SG_CHANNELS] = {
        [SG_CHANNEL_U8] = 0x01,   [SG_CHANNEL_U16] = 0x02,  [SG_CHANNEL_U32] = 0x03,
        [SG_CHANNEL_S8] = 0x08,   [SG_CHANNEL_S16] = 0x09,  [SG_CHANNEL_S32] = 0x0a,
        [SG_CHANNEL_HALF] = 0x10, [SG_CHANNEL_FLOAT] = 0x20};
    static const uint8_t normalised[SG_CHANNELS] = {[SG_CHANNEL_U8] = 0xc0,
                                                    [SG_CHANNEL_U16] = 0xc3,
                                                    [SG_CHANNEL_S8] = 0xc6,
                                                    [SG_CHANNEL_S16] = 0xc9};
    return texels->normalised ? normalised[texels->channel] + texels->channels / 2
                              : plain[texels->channel];
}

/* wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border */
static uint32_t mode_number(enum sg_address_mode mode)
{
    static const uint8_t numbers[] = {[SG_ADDRESS_WRAP] = 0,
                                      [SG_ADDRESS_MIRROR] = 1,
                                      [SG_ADDRESS_CLAMP] = 3,
                                      [SG_ADDRESS_BORDER] = 4};
    return numbers[mode];
}

static uint32_t texture_query_answer(const struct sg_object *object, enum sg_query query,
                                     uint32_t level)
{
    const struct sg_texels *texels = &object->texels;
    const bool there = level < texels->level_count;
    const struct sg_level *sizes = &texels->levels[there ? level : 0];
    switch (query) {
    case SG_QUERY_WIDTH:
        return there ? sizes->width : 0;
    case SG_QUERY_HEIGHT:
        return there ? sizes->height : 0;
    case SG_QUERY_DEPTH:
        return there ? sizes->depth : 0;
    case SG_QUERY_CHANNEL_DATA_TYPE:
        return format_number(texels);
    case SG_QUERY_ARRAY_SIZE:
        return texels->shape == SG_SHAPE_CUBE_LAYERED ? texels->layers / 6
               : texels->shape == SG_SHAPE_CUBE || texels->shape < SG_SHAPE_1D_LAYERED
                   ? 0
                   : texels->layers;
    case SG_QUERY_LEVELS:
        return texels->level_count > 1 ? texels->level_count : 0;
    case SG_QUERY_NORMALIZED_COORDS:
        return object->sampler.normalised_coordinates;
    case SG_QUERY_FILTER_MODE:
        return object->sampler.linear;
    case SG_QUERY_ADDR_MODE_0:
    case SG_QUERY_ADDR_MODE_1:
    case SG_QUERY_ADDR_MODE_2:
        return mode_number(object->sampler.address[query - SG_QUERY_ADDR_MODE_0]);
    default:
        return 0; /* samples */
    }
}

void sg_tex_query(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *handles = sg_row(warp, in->a);
    const uint32_t *levels = in->b ? sg_row(warp, in->b) : NULL;
    uint32_t *row = sg_row(warp, in->d);
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const struct sg_object *object =
            sg_tex_object(warp, in, lane, handles[lane], (enum sg_object_kind)in->imm);
        if (object == NULL) {
            return;
        }
        row[lane] = texture_query_answer(object, (enum sg_query)in->mode,
                                         levels != NULL ? levels[lane] : 0);
    }
}

void sg_istypep(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *handles = sg_row(warp, in->a);
    uint32_t *row = sg_row(warp, in->d), is = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const struct sg_object *object =
            sg_objects_find(warp->block->grid->launch->objects, handles[lane]);
        is |= object != NULL && (int64_t)object->kind == in->imm ? 1u << lane : 0;
    }
    *row = (*row & ~mask) | is;
}
