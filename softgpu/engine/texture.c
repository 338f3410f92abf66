/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of texels in memory, and checks of descriptions. */
#include "softgpu/engine/texture.h"

#include "softgpu/engine/engine.h"
#include "softgpu/engine/permission_map.h"

uint32_t sg_channel_bytes(enum sg_channel channel)
{
    static const uint8_t bytes[SG_CHANNELS] = {
        [SG_CHANNEL_U8] = 1,   [SG_CHANNEL_S8] = 1,  [SG_CHANNEL_U16] = 2, [SG_CHANNEL_S16] = 2,
        [SG_CHANNEL_HALF] = 2, [SG_CHANNEL_U32] = 4, [SG_CHANNEL_S32] = 4, [SG_CHANNEL_FLOAT] = 4};
    return bytes[channel];
}

uint32_t sg_texel_bytes(const struct sg_texels *texels)
{
    return sg_channel_bytes(texels->channel) * texels->channels;
}

uint32_t sg_levels_of(uint32_t width, uint32_t height, uint32_t depth)
{
    uint32_t most = width > height ? width : height, levels = 1;
    most = most > depth ? most : depth;
    while (levels < SG_LEVELS_MAX && most >> levels != 0) {
        levels++;
    }
    return levels;
}

static uint32_t texture_halved(uint32_t size, uint32_t times)
{
    return size >> times ? size >> times : 1;
}

uint64_t sg_texels_layout(struct sg_texels *texels, uint32_t width, uint32_t height, uint32_t depth)
{
    uint64_t texel = sg_texel_bytes(texels), at = 0;
    for (uint32_t i = 0; i < texels->level_count; i++) {
        struct sg_level *level = &texels->levels[i];
        *level = (struct sg_level){.base = at,
                                   .width = texture_halved(width, i),
                                   .height = texture_halved(height, i),
                                   .depth = texture_halved(depth, i)};
        level->row_bytes = (level->width * texel + 15) & ~UINT64_C(15);
        level->slice_bytes = level->row_bytes * level->height;
        at += level->slice_bytes * level->depth * texels->layers;
        at = (at + SG_LEVEL_ALIGN - 1) & ~(uint64_t)(SG_LEVEL_ALIGN - 1);
    }
    return at;
}

void sg_texels_place(struct sg_texels *texels, uint64_t base)
{
    for (uint32_t i = 0; i < texels->level_count; i++) {
        texels->levels[i].base += base;
    }
}

struct sg_texels sg_texels_level(const struct sg_texels *texels, uint32_t level)
{
    struct sg_texels one = *texels;
    one.level_count = 1;
    one.levels[0] = texels->levels[level];
    return one;
}

/* Checks the extents against the shape, and whether layers are allowed. */
static bool shape_allows(const struct sg_texels *texels, const struct sg_level *level)
{
    bool flat = level->depth == 1, line = flat && level->height == 1;
    uint32_t layers = texels->layers;
    switch (texels->shape) {
    case SG_SHAPE_LINEAR:
        return line && layers == 1 && texels->level_count == 1;
    case SG_SHAPE_1D:
        return line && layers == 1;
    case SG_SHAPE_2D:
        return flat && layers == 1;
    case SG_SHAPE_3D:
        return layers == 1;
    case SG_SHAPE_1D_LAYERED:
        return line && layers >= 1;
    case SG_SHAPE_2D_LAYERED:
        return flat && layers >= 1;
    case SG_SHAPE_CUBE:
        return flat && level->width == level->height && layers == 6;
    case SG_SHAPE_CUBE_LAYERED:
        return flat && level->width == level->height && layers >= 6 && layers % 6 == 0;
    default:
        return false;
    }
}

/* Whether its addresses can be computed in 64 bits and end below the end of memory. */
static bool level_is_right(const struct sg_texels *texels, const struct sg_level *level)
{
    const uint64_t end = UINT64_C(1) << SG_ADDRESS_BITS, texel = sg_texel_bytes(texels);
    const uint32_t most = 1u << 29; /* texels along one axis */
    if (level->width == 0 || level->height == 0 || level->depth == 0 || level->width > most ||
        level->height > most || level->depth > most || level->row_bytes > UINT32_MAX) {
        return false;
    }
    if (((level->base | level->row_bytes | level->slice_bytes) & (texel - 1)) != 0 ||
        level->base >= end || level->slice_bytes >= end) {
        return false;
    }
    unsigned __int128 last =
        level->base + (unsigned __int128)level->width * texel +
        (unsigned __int128)level->row_bytes * (level->height - 1) +
        (unsigned __int128)level->slice_bytes * ((uint64_t)level->depth * texels->layers - 1);
    return last <= end;
}

bool sg_texels_are_right(const struct sg_texels *texels)
{
    if ((unsigned)texels->shape >= SG_SHAPES || (unsigned)texels->channel >= SG_CHANNELS ||
        (texels->channels != 1 && texels->channels != 2 && texels->channels != 4) ||
        (texels->normalised &&
         (texels->channel >= SG_CHANNEL_HALF || sg_channel_bytes(texels->channel) > 2)) ||
        texels->layers == 0 || texels->layers >= 1u << 24 || texels->level_count == 0 ||
        texels->level_count > SG_LEVELS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < texels->level_count; i++) {
        const struct sg_level *level = &texels->levels[i];
        if (!shape_allows(texels, level) || !level_is_right(texels, level)) {
            return false;
        }
    }
    return true;
}
