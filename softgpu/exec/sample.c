/* SPDX-License-Identifier: Apache-2.0 */
/* Samples one mipmap level of a texture at the coordinates of many lanes (CUDA C++ Programming
 * Guide, "Texture Fetching").
 *
 * Weights of linear filtering have 8 bits of fraction, as on hardware: a coordinate is rounded to
 * 1/256 of a texel. */
#include <assert.h>
#include <math.h>

#include "softgpu/exec/sample.h"

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/cube.h"
#include "softgpu/exec/fault.h"

/* Far outside, but near enough that no conversion or offset overflows. */
#define SAMPLE_FAR 16.0f

/* Converts coordinates to texels. WRAP and MIRROR: within the first period or two. */
static void axis_scale(float *restrict x, const float *coord, float size, enum sg_address_mode mode,
                       bool normalised)
{
    const float scale = normalised ? size : 1;
    switch (mode) {
    case SG_ADDRESS_WRAP:
        SG_LANE_LOOP
        {
            float f = coord[i] - floorf(coord[i]);
            x[i] = (f >= 0 ? f : 0) * scale; /* 0 for NaN and infinity */
        }
        return;
    case SG_ADDRESS_MIRROR:
        SG_LANE_LOOP
        {
            float f = coord[i] - 2 * floorf(coord[i] * 0.5f);
            x[i] = (f >= 0 ? f : 0) * scale;
        }
        return;
    default:
        SG_LANE_LOOP
        {
            float f = coord[i] * scale;
            f = f == f ? f : 0;
            f = f < -SAMPLE_FAR ? -SAMPLE_FAR : f;
            x[i] = f > size + SAMPLE_FAR ? size + SAMPLE_FAR : f;
        }
    }
}

static uint32_t axis_outside(const int32_t *at, int32_t size)
{
    uint32_t lanes = 0;
    for (int i = 0; i < SG_LANES; i++) {
        lanes |= (uint32_t)at[i] >= (uint32_t)size ? 1u << i : 0;
    }
    return lanes;
}

static int32_t modulo(int32_t value, int32_t period)
{
    int32_t rest = value % period;
    return rest < 0 ? rest + period : rest;
}

/* Maps texel numbers to existing texels; `any`: offsets may lead periods away. */
static uint32_t axis_fold(int32_t *at, int32_t size, enum sg_address_mode mode, bool any)
{
    uint32_t outside = 0;
    switch (mode) {
    case SG_ADDRESS_WRAP:
        for (int i = 0; any && i < SG_LANES; i++) {
            at[i] = modulo(at[i], size);
        }
        SG_LANE_LOOP
        {
            int32_t x = at[i] < 0 ? at[i] + size : at[i];
            at[i] = x >= size ? x - size : x;
        }
        break;
    case SG_ADDRESS_MIRROR:
        for (int i = 0; any && i < SG_LANES; i++) {
            at[i] = modulo(at[i], 2 * size);
        }
        SG_LANE_LOOP
        {
            int32_t x = at[i] < 0 ? -1 - at[i] : at[i];
            x = x >= 2 * size ? x - 2 * size : x;
            at[i] = x >= size ? 2 * size - 1 - x : x;
        }
        break;
    case SG_ADDRESS_BORDER:
        outside = axis_outside(at, size);
        break;
    default:
        break;
    }
    SG_LANE_LOOP /* last, so that no access is out of bounds in any case */
    {
        int32_t x = at[i] < 0 ? 0 : at[i];
        at[i] = x >= size ? size - 1 : x;
    }
    return outside;
}

static void axis_resolve(struct sg_axis *axis, const struct sg_sampling *s, unsigned which,
                         uint32_t size, bool two)
{
    const struct sg_sampler *sampler = &s->object->sampler;
    bool cube = s->form.geometry >= SG_GEOMETRY_CUBE;
    bool normalised =
        (sampler->normalised_coordinates || cube) && s->object->texels.shape != SG_SHAPE_LINEAR;
    enum sg_address_mode mode = cube ? SG_ADDRESS_CLAMP : sampler->address[which];
    if (s->object->texels.shape == SG_SHAPE_LINEAR) {
        mode = SG_ADDRESS_BORDER;
    } else if (!normalised && (mode == SG_ADDRESS_WRAP || mode == SG_ADDRESS_MIRROR)) {
        mode = SG_ADDRESS_CLAMP;
    }
    const int32_t *offset = s->offset[which];
    _Alignas(64) float x[SG_LANES];
    axis_scale(x, s->coord[which], (float)size, mode, normalised);
    if (two) {
        SG_LANE_LOOP
        {
            int32_t fixed = (int32_t)rintf((x[i] - 0.5f) * 256.0f);
            axis->at[0][i] = fixed >> 8;
            axis->at[1][i] = (fixed >> 8) + 1;
            axis->weight[i] = (float)(fixed & 255) * (1.0f / 256.0f);
        }
    } else {
        SG_LANE_LOOP
        {
            axis->at[0][i] = (int32_t)floorf(x[i]);
        }
    }
    for (int k = 0; k <= two; k++) {
        for (int i = 0; offset != NULL && i < SG_LANES; i++) {
            axis->at[k][i] += offset[i] < -8 ? -8 : offset[i] > 7 ? 7 : offset[i];
        }
        axis->outside[k] = 0;
        if (s->seamless) {
            continue; /* sg_cube_cross handles them */
        }
        axis->outside[k] = axis_fold(axis->at[k], (int32_t)size, mode, offset != NULL);
    }
}

/* Coordinates that are texel numbers: beyond the edge reads give 0. */
static void axis_index(struct sg_axis *axis, const struct sg_sampling *s, unsigned which,
                       uint32_t size)
{
    const int32_t *offset = s->offset[which];
    for (int i = 0; i < SG_LANES; i++) {
        int64_t at = (int64_t)s->index[which][i] + (offset != NULL ? offset[i] : 0);
        axis->at[0][i] = at < 0 || at >= size ? -1 : (int32_t)at;
    }
    axis->outside[0] = axis_fold(axis->at[0], (int32_t)size, SG_ADDRESS_BORDER, false);
}

/* ---- texels ---- */

static bool sample_refuse(const struct sg_sampling *s, const struct sg_level *level,
                          const int64_t *offset, uint32_t mask, uint32_t bytes)
{
    for (unsigned i = 0; i < SG_LANES; i++) {
        uint64_t at = level->base + (uint64_t)offset[i];
        if (SG_LANE_ON && !sg_map_allows(s->warp->map, at, bytes, SG_MAP_READ)) {
            sg_warp_fault(s->warp, s->in, i, SG_FAULT_ILLEGAL_ADDRESS, at,
                          "texture whose memory is not there");
            return false;
        }
    }
    return true;
}

/* Reads texels for the lanes of `mask` (other lanes read the texel of one of these); the lanes of
 * `outside` get the border's colour. */
static bool sample_fetch(const struct sg_sampling *s, const struct sg_level *level, int64_t *offset,
                         uint32_t mask, uint32_t outside, sg_colours out)
{
    const struct sg_texels *texels = &s->object->texels;
    const uint32_t bytes = sg_texel_bytes(texels);
    const int64_t fill = offset[__builtin_ctz(mask)];
    for (int i = 0; mask != UINT32_MAX && i < SG_LANES; i++) {
        offset[i] = SG_LANE_ON ? offset[i] : fill;
    }
    int64_t low = fill, high = fill;
    for (int i = 0; i < SG_LANES; i++) {
        low = offset[i] < low ? offset[i] : low;
        high = offset[i] > high ? offset[i] : high;
    }
    bool near =
        high - low < (1 << 20) && sg_map_allows(s->warp->map, level->base + (uint64_t)low,
                                                (uint64_t)(high - low) + bytes, SG_MAP_READ);
    if (!near && !sample_refuse(s, level, offset, mask, bytes)) {
        return false;
    }
    SG_ISA_NAME(sg_texels_decode)
    (s->decoding, texels->channels, (const uint8_t *)(uintptr_t)level->base, offset, out);
    for (uint32_t left = mask & outside; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        for (uint32_t c = 0; c < texels->channels; c++) {
            out[c][i] = 0;
            if (!s->form.integer && texels->shape != SG_SHAPE_LINEAR) {
                memcpy(&out[c][i], &s->object->sampler.border[c], sizeof out[c][i]);
            }
        }
    }
    return true;
}

/* Offsets of corner `k`: bit d selects the texel along axis d. */
static void corner_offsets(const struct sg_sampling *s, const struct sg_level *level,
                           const struct sg_axis axes[3], unsigned k, int64_t *offset)
{
    const uint32_t texel = sg_texel_bytes(&s->object->texels);
    const uint32_t row = (uint32_t)level->row_bytes;
    const int64_t slice = (int64_t)level->slice_bytes;
    const int32_t *x = axes[0].at[k & 1], *y = axes[1].at[k >> 1 & 1], *z = axes[2].at[k >> 2 & 1];
    SG_LANE_LOOP
    {
        offset[i] = (int64_t)((uint64_t)(uint32_t)x[i] * texel);
    }
    if (s->axes > 1) {
        SG_LANE_LOOP
        {
            offset[i] += (int64_t)((uint64_t)(uint32_t)y[i] * row);
        }
    }
    if (s->axes > 2) {
        SG_LANE_LOOP
        {
            offset[i] += z[i] * slice;
        }
    }
    if (s->object->texels.layers > 1) {
        SG_LANE_LOOP
        {
            offset[i] += s->layer[i] * slice;
        }
    }
}

/* Offsets on a seamless cube: texels beyond an edge are those of the neighbouring face. */
static void cube_corner_offsets(const struct sg_sampling *s, const struct sg_level *level,
                                const struct sg_axis axes[3], unsigned k, int64_t *offset)
{
    const uint32_t texel = sg_texel_bytes(&s->object->texels), size = level->width;
    for (int i = 0; i < SG_LANES; i++) {
        int32_t x = axes[0].at[k & 1][i], y = axes[1].at[k >> 1][i];
        uint32_t face = s->layer[i] % 6, first = s->layer[i] - face;
        sg_cube_cross(size, &face, &x, &y);
        offset[i] =
            (int64_t)((uint64_t)(uint32_t)x * texel + (uint64_t)(uint32_t)y * level->row_bytes +
                      (first + face) * level->slice_bytes);
    }
}

static uint32_t corner_outside(const struct sg_sampling *s, const struct sg_axis axes[3],
                               unsigned k)
{
    uint32_t lanes = 0;
    for (unsigned d = 0; d < s->axes; d++) {
        lanes |= axes[d].outside[k >> d & 1];
    }
    return lanes;
}

static void corner_weight(const struct sg_sampling *s, const struct sg_axis axes[3], unsigned k,
                          float *weight)
{
    SG_LANE_LOOP
    {
        weight[i] = k & 1 ? axes[0].weight[i] : 1 - axes[0].weight[i];
    }
    for (unsigned d = 1; d < s->axes; d++) {
        SG_LANE_LOOP
        {
            weight[i] *= k >> d & 1 ? axes[d].weight[i] : 1 - axes[d].weight[i];
        }
    }
}

/* Where three faces meet there is no fourth texel: the other three share its weight. */
static void cube_corner_weight(const struct sg_level *level, const struct sg_axis axes[3],
                               unsigned k, float *weight)
{
    const uint32_t size = level->width;
    for (int i = 0; i < SG_LANES; i++) {
        for (unsigned m = 0; m < 4; m++) {
            if ((uint32_t)axes[0].at[m & 1][i] >= size && (uint32_t)axes[1].at[m >> 1][i] >= size) {
                float x = axes[0].weight[i], y = axes[1].weight[i];
                float missing = (m & 1 ? x : 1 - x) * (m >> 1 ? y : 1 - y);
                weight[i] = m == k ? 0 : weight[i] + missing / 3;
            }
        }
    }
}

static bool filter(const struct sg_sampling *s, const struct sg_level *level,
                   const struct sg_axis axes[3], uint32_t mask, sg_colours out)
{
    const uint32_t channels = s->object->texels.channels;
    _Alignas(64) float sum[4][SG_LANES];
    _Alignas(64) float weight[SG_LANES];
    _Alignas(64) int64_t offset[SG_LANES];
    _Alignas(64) sg_colours texel;
    memset(sum, 0, channels * sizeof sum[0]);
    for (unsigned k = 0; k < 1u << s->axes; k++) {
        corner_weight(s, axes, k, weight);
        if (s->seamless) {
            cube_corner_offsets(s, level, axes, k, offset);
            cube_corner_weight(level, axes, k, weight);
        } else {
            corner_offsets(s, level, axes, k, offset);
        }
        if (!sample_fetch(s, level, offset, mask, corner_outside(s, axes, k), texel)) {
            return false;
        }
        for (uint32_t c = 0; c < channels; c++) {
            const float *value = (const float *)(const void *)texel[c];
            SG_LANE_LOOP
            {
                sum[c][i] += weight[i] * value[i];
            }
        }
    }
    memcpy(out, sum, channels * sizeof out[0]);
    return true;
}

/* tld4: one channel of the four texels, counter-clockwise from (0, 1). */
static bool sample_gather(const struct sg_sampling *s, const struct sg_level *level,
                          const struct sg_axis axes[3], uint32_t mask, sg_colours out)
{
    static const unsigned corners[4] = {2, 3, 1, 0};
    const unsigned wanted = s->form.gather - 1u; /* a channel that the texture has */
    _Alignas(64) int64_t offset[SG_LANES];
    _Alignas(64) sg_colours texel;
    for (unsigned k = 0; k < 4; k++) {
        if (s->seamless) {
            cube_corner_offsets(s, level, axes, corners[k], offset);
        } else {
            corner_offsets(s, level, axes, corners[k], offset);
        }
        if (!sample_fetch(s, level, offset, mask, corner_outside(s, axes, corners[k]), texel)) {
            return false;
        }
        for (int i = 0; i < SG_LANES; i++) {
            out[k][i] = texel[wanted][i];
        }
    }
    return true;
}

static bool nearest(const struct sg_sampling *s, const struct sg_level *level,
                    const struct sg_axis axes[3], uint32_t mask, sg_colours out)
{
    _Alignas(64) int64_t offset[SG_LANES];
    corner_offsets(s, level, axes, 0, offset);
    return sample_fetch(s, level, offset, mask, corner_outside(s, axes, 0), out);
}

bool SG_ISA_NAME(sg_sample_level)(const struct sg_sampling *s, unsigned which, uint32_t mask,
                                  sg_colours out)
{
    const struct sg_level *level = &s->object->texels.levels[which];
    const uint32_t sizes[3] = {level->width, level->height, level->depth};
    struct sg_axis axes[3];
    assert(s->axes >= 1 && s->axes <= 3);
    if (s->form.integer) {
        for (unsigned d = 0; d < s->axes; d++) {
            axis_index(&axes[d], s, d, sizes[d]);
        }
        return nearest(s, level, axes, mask, out);
    }
    for (unsigned d = 0; d < s->axes; d++) {
        axis_resolve(&axes[d], s, d, sizes[d], s->linear || s->form.gather);
    }
    return s->form.gather ? sample_gather(s, level, axes, mask, out)
           : s->linear    ? filter(s, level, axes, mask, out)
                          : nearest(s, level, axes, mask, out);
}
