/* SPDX-License-Identifier: Apache-2.0 */
/* tex and tld4: one texture object and one level after the other, for the lanes of a warp. */
#include "softgpu/exec/tex.h"

#include <math.h>

#include "softgpu/exec/cube.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/query.h"
#include "softgpu/exec/sample.h"

static const struct {
    uint8_t axes, layered, cube;
} geometries[] = {
    [SG_GEOMETRY_1D] = {1, 0, 0},    [SG_GEOMETRY_2D] = {2, 0, 0},  [SG_GEOMETRY_3D] = {3, 0, 0},
    [SG_GEOMETRY_A1D] = {1, 1, 0},   [SG_GEOMETRY_A2D] = {2, 1, 0}, [SG_GEOMETRY_CUBE] = {2, 0, 1},
    [SG_GEOMETRY_ACUBE] = {2, 1, 1},
};

static unsigned axes_of(enum sg_shape shape)
{
    switch (shape) {
    case SG_SHAPE_LINEAR:
    case SG_SHAPE_1D:
    case SG_SHAPE_1D_LAYERED:
        return 1;
    case SG_SHAPE_3D:
        return 3;
    default:
        return 2;
    }
}

static enum sg_decoding decoding_of(const struct sg_object *object, bool *floats)
{
    const struct sg_texels *texels = &object->texels;
    const bool numbers = texels->normalised || !object->sampler.read_integer;
    *floats = true;
    switch (texels->channel) {
    case SG_CHANNEL_HALF:
        return SG_DECODE_HALF;
    case SG_CHANNEL_FLOAT:
        return SG_DECODE_32;
    case SG_CHANNEL_U8:
        *floats = numbers;
        return !numbers ? SG_DECODE_U8 : object->sampler.srgb ? SG_DECODE_SRGB8 : SG_DECODE_UNORM8;
    case SG_CHANNEL_S8:
        *floats = numbers;
        return numbers ? SG_DECODE_SNORM8 : SG_DECODE_S8;
    case SG_CHANNEL_U16:
        *floats = numbers;
        return numbers ? SG_DECODE_UNORM16 : SG_DECODE_U16;
    case SG_CHANNEL_S16:
        *floats = numbers;
        return numbers ? SG_DECODE_SNORM16 : SG_DECODE_S16;
    default:
        *floats = false;
        return SG_DECODE_32;
    }
}

/* Row `index` of the list; NULL: not given. */
static const void *listed(const struct sg_sampling *s, unsigned index)
{
    uint32_t offset = sg_row_list(s->warp, s->in)[index];
    return offset ? sg_row(s->warp, offset) : NULL;
}

/* Rows that are computed where the given ones are not in the required form. */
struct room {
    _Alignas(64) uint32_t layer[SG_LANES];
    float coord[2][SG_LANES];
};

static void read_layer(struct sg_sampling *s, bool cube, struct room *room)
{
    const uint32_t *row = listed(s, SG_TEX_LAYER);
    const uint32_t layers = s->object->texels.layers, count = cube ? layers / 6 : layers;
    s->layer = room->layer;
    for (int i = 0; layers > 1 && i < SG_LANES; i++) {
        uint32_t layer = row != NULL ? row[i] : 0;
        room->layer[i] = layer < count ? layer : count - 1;
    }
}

static void project(struct sg_sampling *s, struct room *room)
{
    const float *x = listed(s, SG_TEX_COORD), *y = listed(s, SG_TEX_COORD + 1);
    const float *z = listed(s, SG_TEX_COORD + 2);
    for (int i = 0; i < SG_LANES; i++) {
        uint32_t face;
        float at[2];
        sg_cube_project((const float[3]){x[i], y[i], z[i]}, &face, at);
        room->coord[0][i] = at[0];
        room->coord[1][i] = at[1];
        room->layer[i] = room->layer[i] * 6 + face;
    }
}

/* False: the texture cannot be read like that. */
static bool tex_prepare(struct sg_sampling *s, struct room *room)
{
    const struct sg_texels *texels = &s->object->texels;
    const unsigned geometry = s->form.geometry;
    const bool cube = geometries[geometry].cube;
    if (cube && texels->shape != SG_SHAPE_CUBE && texels->shape != SG_SHAPE_CUBE_LAYERED) {
        return false;
    }
    unsigned has = axes_of(texels->shape), wants = geometries[geometry].axes;
    s->axes = has < wants ? has : wants;
    if (s->form.gather && s->axes < 2) {
        return false;
    }
    s->decoding = decoding_of(s->object, &s->floats);
    s->linear = s->object->sampler.linear && s->floats && !s->form.integer &&
                texels->shape != SG_SHAPE_LINEAR;
    s->seamless = cube && s->object->sampler.seamless && (s->linear || s->form.gather);
    read_layer(s, cube, room);
    if (cube) {
        project(s, room);
    }
    for (unsigned d = 0; d < s->axes; d++) {
        s->index[d] = listed(s, SG_TEX_COORD + d);
        s->coord[d] = cube ? room->coord[d] : listed(s, SG_TEX_COORD + d);
        s->offset[d] = s->form.offsets ? listed(s, SG_TEX_OFFSET + d) : NULL;
    }
    return true;
}

/* ---- levels ---- */

/* Texels of level 0 that a step covers, at most; without anisotropy. */
static float footprint(const struct sg_sampling *s, int lane)
{
    float d[2][3] = {{0}}, most = 0;
    const struct sg_level *level = &s->object->texels.levels[0];
    const float sizes[3] = {(float)level->width, (float)level->height, (float)level->depth};
    const bool cube = geometries[s->form.geometry].cube;
    const unsigned axes = cube ? 3 : s->axes;
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned a = 0; a < axes; a++) {
            d[k][a] = ((const float *)listed(s, SG_TEX_LOD + 3 * k + a))[lane];
        }
    }
    if (cube) {
        float direction[3];
        for (unsigned a = 0; a < 3; a++) {
            direction[a] = ((const float *)listed(s, SG_TEX_COORD + a))[lane];
        }
        return sg_cube_rate(direction, (const float(*)[3])d) * sizes[0];
    }
    for (unsigned k = 0; k < 2; k++) {
        float square = 0;
        for (unsigned a = 0; a < axes; a++) {
            float step = d[k][a] * (s->object->sampler.normalised_coordinates ? sizes[a] : 1);
            square += step * step;
        }
        most = square > most ? square : most;
    }
    return sqrtf(most);
}

static float lod_of(const struct sg_sampling *s, int lane)
{
    const struct sg_sampler *sampler = &s->object->sampler;
    const float last = (float)(s->object->texels.level_count - 1);
    float lod;
    if (s->form.lod == SG_LOD_GRAD) {
        lod = log2f(footprint(s, lane));
    } else if (s->form.integer) {
        lod = (float)((const int32_t *)listed(s, SG_TEX_LOD))[lane];
    } else {
        lod = ((const float *)listed(s, SG_TEX_LOD))[lane];
    }
    lod += sampler->mip_bias;
    lod = lod > sampler->mip_min ? lod : sampler->mip_min; /* NaN, too */
    lod = lod < sampler->mip_max ? lod : sampler->mip_max;
    return lod > 0 ? lod < last ? lod : last : 0;
}

/* The level of each lane, and the weight of the next one. */
struct levels {
    uint32_t of[SG_LANES];
    float next[SG_LANES];
    bool blend;
};

static void find_levels(const struct sg_sampling *s, uint32_t mask, struct levels *levels)
{
    levels->blend = false;
    for (int i = 0; i < SG_LANES; i++) {
        levels->of[i] = 0;
        levels->next[i] = 0;
        if (!SG_LANE_ON || s->form.lod == SG_LOD_BASE) {
            continue;
        }
        float lod = lod_of(s, i);
        if (s->object->sampler.mip_linear && s->floats && !s->form.gather) {
            float fixed = rintf(lod * 256);
            levels->of[i] = (uint32_t)fixed / 256;
            levels->next[i] = (float)((uint32_t)fixed % 256) / 256;
            levels->blend |= levels->next[i] != 0;
        } else {
            levels->of[i] = (uint32_t)(lod + 0.5f);
        }
    }
}

/* Samples the levels of the lanes plus `add`. */
static bool sample_levels(const struct sg_sampling *s, const struct levels *levels, uint32_t add,
                          uint32_t mask, sg_colours out)
{
    for (uint32_t left = mask; left;) {
        const uint32_t level = levels->of[__builtin_ctz(left)];
        uint32_t same = 0;
        for (int i = 0; i < SG_LANES; i++) {
            same |= levels->of[i] == level ? 1u << i : 0;
        }
        same &= left;
        left &= ~same;
        _Alignas(64) sg_colours some;
        if (!SG_ISA_NAME(sg_sample_level)(s, level + add, same, some)) {
            return false;
        }
        for (uint32_t c = 0; c < 4; c++) {
            for (int i = 0; i < SG_LANES; i++) {
                out[c][i] = same >> i & 1 ? some[c][i] : out[c][i];
            }
        }
    }
    return true;
}

static bool blend(const struct sg_sampling *s, const struct levels *levels, uint32_t mask,
                  sg_colours out)
{
    _Alignas(64) sg_colours further = {{0}};
    uint32_t lanes = 0;
    for (int i = 0; i < SG_LANES; i++) {
        lanes |= SG_LANE_ON && levels->next[i] != 0 ? 1u << i : 0;
    }
    if (!sample_levels(s, levels, 1, lanes, further)) {
        return false;
    }
    for (uint32_t c = 0; c < s->object->texels.channels; c++) {
        for (int i = 0; i < SG_LANES; i++) {
            float near, far, weight = levels->next[i];
            memcpy(&near, &out[c][i], sizeof near);
            memcpy(&far, &further[c][i], sizeof far);
            near = near * (1 - weight) + far * weight;
            if (lanes >> i & 1) {
                memcpy(&out[c][i], &near, sizeof near);
            }
        }
    }
    return true;
}

/* ---- results ---- */

/* Channels that the texture lacks: 0, 0, 1. */
static void tex_complete(const struct sg_sampling *s, sg_colours out)
{
    const uint32_t channels = s->object->texels.channels;
    const uint32_t one = s->floats ? 0x3f800000 : 1;
    if (s->form.gather) {
        return;
    }
    for (uint32_t c = channels; c < 4; c++) {
        for (int i = 0; i < SG_LANES; i++) {
            out[c][i] = c == 3 ? one : 0;
        }
    }
}

static uint32_t tex_to_half(const struct sg_sampling *s, uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return s->floats ? sg_half_from_float(value) : bits & 0xffff;
}

static void write_results(const struct sg_sampling *s, uint32_t mask, sg_colours out)
{
    const uint32_t *rows = sg_row_list(s->warp, s->in);
    for (uint32_t c = 0; s->form.result != SG_TEX_B32 && c < 4; c++) {
        for (int i = 0; i < SG_LANES; i++) {
            out[c][i] = SG_LANE_ON ? tex_to_half(s, out[c][i]) : 0;
        }
    }
    for (uint32_t c = 0; s->form.result == SG_TEX_F16X2 && c < 2; c++) {
        for (int i = 0; i < SG_LANES; i++) {
            out[c][i] = out[2 * c][i] | out[2 * c + 1][i] << 16;
        }
    }
    for (uint32_t c = 0; c < (s->form.result == SG_TEX_F16X2 ? 2 : 4); c++) {
        if (!rows[SG_TEX_RESULT + c]) {
            continue;
        }
        uint32_t *row = sg_row(s->warp, rows[SG_TEX_RESULT + c]);
        if (mask == UINT32_MAX) {
            memcpy(row, out[c], sizeof out[c]);
            continue;
        }
        SG_LANE_LOOP
        {
            row[i] = SG_LANE_ON ? out[c][i] : row[i];
        }
    }
}

/* tld4 of a channel that the texture lacks. */
static bool gather_nothing(const struct sg_sampling *s, sg_colours out)
{
    if (!s->form.gather || s->form.gather <= s->object->texels.channels) {
        return false;
    }
    for (uint32_t k = 0; k < 4; k++) {
        for (int i = 0; i < SG_LANES; i++) {
            out[k][i] = s->form.gather < 4 ? 0 : s->floats ? 0x3f800000 : 1;
        }
    }
    return true;
}

static bool sample(struct sg_sampling *s, uint32_t mask)
{
    _Alignas(64) sg_colours out;
    if (s->form.lod == SG_LOD_BASE || s->object->texels.level_count == 1) {
        if (!gather_nothing(s, out) && !SG_ISA_NAME(sg_sample_level)(s, 0, mask, out)) {
            return false;
        }
    } else {
        struct levels levels;
        find_levels(s, mask, &levels);
        memset(out, 0, sizeof out);
        if (!sample_levels(s, &levels, 0, mask, out) ||
            (levels.blend && !blend(s, &levels, mask, out))) {
            return false;
        }
    }
    tex_complete(s, out);
    write_results(s, mask, out);
    return true;
}

void SG_ISA_NAME(sg_tex)(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *handles = sg_row(warp, in->a);
    for (uint32_t left = mask; left;) {
        struct room room;
        struct sg_sampling s = {.warp = warp, .in = in, .form = sg_tex_form_of(in)};
        const unsigned lane = (unsigned)__builtin_ctz(left);
        const uint32_t same = sg_lanes_agree(handles, left);
        s.object = sg_tex_object(warp, in, lane, handles[lane], SG_OBJECT_TEXTURE);
        if (s.object == NULL) {
            return;
        }
        if (!tex_prepare(&s, &room)) {
            sg_warp_fault(warp, in, lane, SG_FAULT_ILLEGAL_ADDRESS, handles[lane],
                          "a texture of another shape than the instruction's");
            return;
        }
        if (!sample(&s, same)) {
            return;
        }
        left &= ~same;
    }
    if (in->d) { /* whether it is resident: always */
        *(uint32_t *)sg_row(warp, in->d) |= mask;
    }
}
