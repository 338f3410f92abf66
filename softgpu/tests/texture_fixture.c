/* SPDX-License-Identifier: Apache-2.0 */
/* See texture_fixture.h. */
#include "softgpu/tests/texture_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void fill(void *memory, uint64_t bytes, enum sg_channel channel, uint64_t *seed)
{
    float *floats = memory;
    uint16_t *words = memory;
    uint8_t *raw = memory;
    for (uint64_t i = 0; channel == SG_CHANNEL_FLOAT && i < bytes / 4; i++) {
        floats[i] = (float)((double)(int64_t)engine_random(seed) * 0x1p-60);
    }
    for (uint64_t i = 0; channel == SG_CHANNEL_HALF && i < bytes / 2; i++) {
        uint16_t bits = (uint16_t)engine_random(seed);
        words[i] = (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : bits; /* finite */
    }
    for (uint64_t i = 0; channel < SG_CHANNEL_HALF && i < bytes; i++) {
        raw[i] = (uint8_t)engine_random(seed);
    }
}

struct sg_texels texture_texels(struct engine *engine, enum sg_shape shape, enum sg_channel channel,
                                uint32_t channels, uint32_t levels, uint64_t *seed)
{
    static const uint32_t sizes[SG_SHAPES][4] = {
        [SG_SHAPE_LINEAR] = {37, 1, 1, 1},    [SG_SHAPE_1D] = {7, 1, 1, 1},
        [SG_SHAPE_2D] = {5, 6, 1, 1},         [SG_SHAPE_3D] = {4, 3, 5, 1},
        [SG_SHAPE_1D_LAYERED] = {6, 1, 1, 3}, [SG_SHAPE_2D_LAYERED] = {3, 4, 1, 5},
        [SG_SHAPE_CUBE] = {4, 4, 1, 6},       [SG_SHAPE_CUBE_LAYERED] = {3, 3, 1, 12},
    };
    const uint32_t *size = sizes[shape];
    struct sg_texels texels = {.shape = shape,
                               .channel = channel,
                               .channels = channels,
                               .layers = size[3],
                               .level_count = levels};
    uint64_t bytes = sg_texels_layout(&texels, size[0], size[1], size[2]);
    void *memory = engine_memory(engine, bytes);
    fill(memory, bytes, channel, seed);
    sg_texels_place(&texels, PTR(memory));
    return texels;
}

double texture_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 0    ? ldexp(fraction, -24)
                       : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                        : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

/* ---- one texel ---- */

static double number(const struct sg_object *object, const void *at, unsigned c, bool *floats)
{
    const bool numbers = object->texels.normalised || !object->sampler.read_integer;
    union {
        uint8_t u8;
        int8_t s8;
        uint16_t u16;
        int16_t s16;
        uint32_t u32;
        int32_t s32;
        float f;
    } v;
    const uint32_t bytes = sg_channel_bytes(object->texels.channel);
    memcpy(&v, (const uint8_t *)at + c * bytes, bytes);
    *floats = numbers;
    switch (object->texels.channel) {
    case SG_CHANNEL_U8:
        if (numbers && object->sampler.srgb && c < 3) {
            double s = v.u8 / 255.0;
            return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
        }
        return numbers ? v.u8 / 255.0 : v.u8;
    case SG_CHANNEL_S8:
        return numbers ? fmax(v.s8 / 127.0, -1) : v.s8;
    case SG_CHANNEL_U16:
        return numbers ? v.u16 / 65535.0 : v.u16;
    case SG_CHANNEL_S16:
        return numbers ? fmax(v.s16 / 32767.0, -1) : v.s16;
    case SG_CHANNEL_U32:
        *floats = false;
        return v.u32;
    case SG_CHANNEL_S32:
        *floats = false;
        return v.s32;
    case SG_CHANNEL_HALF:
        *floats = true;
        return texture_half(v.u16);
    default:
        *floats = true;
        return v.f;
    }
}

static double border(const struct sg_object *object, unsigned c, bool floats)
{
    uint32_t bits;
    memcpy(&bits, &object->sampler.border[c], sizeof bits);
    return floats ? object->sampler.border[c]
           : object->texels.channel >= SG_CHANNEL_S8 && object->texels.channel <= SG_CHANNEL_S32
               ? (double)(int32_t)bits
               : (double)bits;
}

/* ---- axes ---- */

static long long fold(long long at, long long size, enum sg_address_mode mode)
{
    long long period = 2 * size;
    switch (mode) {
    case SG_ADDRESS_WRAP:
        return ((at % size) + size) % size;
    case SG_ADDRESS_MIRROR:
        at = ((at % period) + period) % period;
        return at < size ? at : period - 1 - at;
    case SG_ADDRESS_CLAMP:
        return at < 0 ? 0 : at >= size ? size - 1 : at;
    default:
        return at < 0 || at >= size ? -1 : at;
    }
}

struct place { /* on one axis */
    long long at[2];
    double weight; /* of the second */
};

static bool is_cube(const struct sg_object *object)
{
    return object->texels.shape == SG_SHAPE_CUBE || object->texels.shape == SG_SHAPE_CUBE_LAYERED;
}

static struct place place_on(const struct sg_object *object, const struct texture_query *query,
                             float coord, int axis, uint32_t size, bool two)
{
    const struct sg_sampler *sampler = &object->sampler;
    struct place place = {{0}, 0};
    bool linear_memory = object->texels.shape == SG_SHAPE_LINEAR;
    bool normalised = !linear_memory && (sampler->normalised_coordinates || is_cube(object));
    enum sg_address_mode mode = is_cube(object) ? SG_ADDRESS_CLAMP : sampler->address[axis];
    if (!normalised && mode < SG_ADDRESS_BORDER) {
        mode = SG_ADDRESS_CLAMP;
    }
    if (query->integer || linear_memory) {
        mode = SG_ADDRESS_BORDER;
    }
    if (query->integer) {
        place.at[0] = fold((long long)query->index[axis] + query->offset[axis], size, mode);
        return place;
    }
    /* The coordinate within its period is a float, as is its product with the size. */
    float u = coord;
    if (isnan(u) || (isinf(u) && mode < SG_ADDRESS_CLAMP) ||
        (isinf(u) && mode == SG_ADDRESS_MIRROR)) {
        u = 0;
    }
    if (mode == SG_ADDRESS_WRAP) {
        u = u - floorf(u);
    } else if (mode == SG_ADDRESS_MIRROR) {
        u = u - 2 * floorf(u / 2);
    }
    double x = normalised ? (double)(u * (float)size) : (double)u;
    x = x < -1e6 ? -1e6 : x > 1e6 ? 1e6 : x;
    if (two) {
        double fixed = nearbyint((x - 0.5) * 256);
        long long first = (long long)floor(fixed / 256);
        place.weight = fixed / 256 - (double)first;
        place.at[0] = first;
        place.at[1] = first + 1;
    } else {
        place.at[0] = (long long)floor(x);
    }
    for (int k = 0; k <= two; k++) {
        place.at[k] += query->offset[axis];
        if (!two || !is_cube(object) || !sampler->seamless) {
            place.at[k] = fold(place.at[k], size, mode);
        }
    }
    return place;
}

/* ---- cubes: the table of the guide, and what a direction is that leads to a place ---- */

static int face_of(const double d[3], double *s, double *t)
{
    double ax = fabs(d[0]), ay = fabs(d[1]), az = fabs(d[2]), m;
    int face;
    if (az >= ax && az >= ay) {
        face = d[2] < 0 ? 5 : 4, m = az;
        *s = face == 4 ? d[0] : -d[0], *t = -d[1];
    } else if (ay >= ax) {
        face = d[1] < 0 ? 3 : 2, m = ay;
        *s = d[0], *t = face == 2 ? d[2] : -d[2];
    } else {
        face = d[0] < 0 ? 1 : 0, m = ax;
        *s = face == 0 ? -d[2] : d[2], *t = -d[1];
    }
    *s = m > 0 ? (double)((float)(*s / m) + 1.0f) / 2 : 0.5; /* in single precision */
    *t = m > 0 ? (double)((float)(*t / m) + 1.0f) / 2 : 0.5;
    return face;
}

static void direction_of(int face, double s, double t, double d[3])
{
    const double a = 2 * s - 1, b = 2 * t - 1;
    const double table[6][3] = {{1, -b, -a}, {-1, -b, a}, {a, 1, b},
                                {a, -1, -b}, {a, -b, 1},  {-a, -b, -1}};
    memcpy(d, table[face], sizeof table[face]);
}

/* ---- a level ---- */

struct corner {
    double value[4];
    double weight;
    bool floats;
};

static struct corner corner_at(const struct sg_object *object, const struct texture_query *query,
                               const struct sg_level *level, const long long at[3], uint32_t layer)
{
    struct corner corner = {{0}, 1, false};
    const uint32_t bytes = sg_texel_bytes(&object->texels);
    bool outside = at[0] < 0 || at[1] < 0 || at[2] < 0;
    uint64_t address = level->base + (uint64_t)at[0] * bytes + (uint64_t)at[1] * level->row_bytes +
                       ((uint64_t)at[2] + layer) * level->slice_bytes;
    for (unsigned c = 0; c < object->texels.channels; c++) {
        uint8_t nothing[16] = {0};
        const void *from = outside ? nothing : (const void *)(uintptr_t)address;
        corner.value[c] = number(object, from, c, &corner.floats);
        if (outside) {
            corner.value[c] = query->integer || object->texels.shape == SG_SHAPE_LINEAR
                                  ? 0
                                  : border(object, c, corner.floats);
        }
    }
    return corner;
}

struct footprint {
    struct place places[3];
    int face;
    bool two;
    unsigned axes;
};

static struct footprint footprint_of(const struct sg_object *object,
                                     const struct texture_query *query,
                                     const struct sg_level *level, bool two)
{
    static const uint8_t axes[SG_SHAPES] = {1, 1, 2, 3, 1, 2, 2, 2};
    const uint32_t sizes[3] = {level->width, level->height, level->depth};
    struct footprint print = {.two = two, .axes = axes[object->texels.shape]};
    float coord[3];
    memcpy(coord, query->coord, sizeof coord);
    if (is_cube(object)) {
        double d[3] = {coord[0], coord[1], coord[2]}, s, t;
        print.face = face_of(d, &s, &t);
        coord[0] = (float)s;
        coord[1] = (float)t;
    }
    for (unsigned a = 0; a < 3 && a < print.axes; a++) {
        print.places[a] = place_on(object, query, coord[a], (int)a, sizes[a], two);
    }
    return print;
}

static struct corner corner_of(const struct sg_object *object, const struct texture_query *query,
                               const struct sg_level *level, const struct footprint *print,
                               unsigned k)
{
    const uint32_t layers = object->texels.layers, faces = is_cube(object) ? 6 : 1;
    uint32_t layer = query->layer < layers / faces ? query->layer : layers / faces - 1;
    long long at[3] = {0, 0, 0};
    double weight = 1;
    int face = print->face;
    for (unsigned a = 0; a < print->axes; a++) {
        const struct place *place = &print->places[a];
        at[a] = place->at[k >> a & 1];
        weight *= !print->two ? 1 : k >> a & 1 ? place->weight : 1 - place->weight;
    }
    long long n = level->width;
    bool beyond[2] = {at[0] < 0 || at[0] >= n, at[1] < 0 || at[1] >= n};
    if (is_cube(object) && (beyond[0] || beyond[1])) {
        double d[3], s, t;
        if (beyond[0] && beyond[1]) {
            return (struct corner){.weight = -weight}; /* there is no such texel */
        }
        direction_of(face, ((double)at[0] + 0.5) / (double)n, ((double)at[1] + 0.5) / (double)n, d);
        face = face_of(d, &s, &t);
        at[0] = (long long)floor(s * (double)n);
        at[1] = (long long)floor(t * (double)n);
    }
    struct corner corner = corner_at(object, query, level, at, layer * faces + (uint32_t)face);
    corner.weight = weight;
    return corner;
}

static struct texture_colour sample_level(const struct sg_object *object,
                                          const struct texture_query *query, unsigned which)
{
    const struct sg_level *level = &object->texels.levels[which];
    bool floats;
    uint8_t nothing[16] = {0};
    number(object, nothing, 0, &floats);
    bool two = floats && object->sampler.linear && !query->integer &&
               object->texels.shape != SG_SHAPE_LINEAR;
    struct texture_colour colour = {.floats = floats};
    struct footprint print = footprint_of(object, query, level, two);
    double missing = 0;
    struct corner corners[8];
    const unsigned count = two ? 1u << print.axes : 1;
    for (unsigned k = 0; k < count; k++) {
        corners[k] = corner_of(object, query, level, &print, k);
        missing += corners[k].weight < 0 ? -corners[k].weight : 0;
    }
    for (unsigned k = 0; k < count; k++) {
        double weight = corners[k].weight < 0 ? 0 : corners[k].weight;
        weight += missing != 0 && corners[k].weight >= 0 ? missing / 3 : 0;
        for (unsigned c = 0; c < object->texels.channels; c++) {
            colour.value[c] += weight * corners[k].value[c];
            colour.error[c] += floats ? 6e-7 * fabs(weight * corners[k].value[c]) : 0;
        }
    }
    for (unsigned c = object->texels.channels; c < 4; c++) {
        colour.value[c] = c == 3;
    }
    return colour;
}

struct texture_colour texture_sample(const struct sg_object *object,
                                     const struct texture_query *query)
{
    const struct sg_sampler *sampler = &object->sampler;
    const unsigned last = object->texels.level_count - 1;
    if (last == 0) {
        return sample_level(object, query, 0);
    }
    double lod = (double)query->lod + sampler->mip_bias;
    lod = fmin(fmax(isnan(lod) ? sampler->mip_min : lod, sampler->mip_min), sampler->mip_max);
    lod = fmin(fmax(lod, 0), last);
    struct texture_colour near = sample_level(object, query, (unsigned)floor(lod + 0.5));
    if (!sampler->mip_linear || !near.floats) {
        return near;
    }
    double fixed = nearbyint(lod * 256) / 256, weight = fixed - floor(fixed);
    near = sample_level(object, query, (unsigned)floor(fixed));
    if (weight != 0) {
        struct texture_colour far = sample_level(object, query, (unsigned)floor(fixed) + 1);
        for (int c = 0; c < 4; c++) {
            near.value[c] += weight * (far.value[c] - near.value[c]);
            near.error[c] += far.error[c] + 2e-7 * (fabs(far.value[c]) + fabs(near.value[c]));
        }
    }
    return near;
}

struct texture_colour texture_gather(const struct sg_object *object,
                                     const struct texture_query *query, unsigned channel)
{
    static const unsigned order[4] = {2, 3, 1, 0};
    struct texture_colour colour = {{0}, {0}, false};
    struct footprint print = footprint_of(object, query, &object->texels.levels[0], true);
    for (int k = 0; k < 4; k++) {
        struct corner corner =
            corner_of(object, query, &object->texels.levels[0], &print, order[k]);
        colour.floats = corner.floats;
        colour.value[k] = channel < object->texels.channels ? corner.value[channel] : channel == 3;
        colour.error[k] = corner.floats ? 1e-7 * fabs(colour.value[k]) : 0;
    }
    return colour;
}

bool texture_is(const struct texture_colour *colour, const struct sg_object *object, unsigned c,
                uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    if (colour->floats) {
        return fabs((double)value - colour->value[c]) <= colour->error[c] + 1e-38;
    }
    const bool is_signed =
        object->texels.channel >= SG_CHANNEL_S8 && object->texels.channel <= SG_CHANNEL_S32;
    return colour->value[c] == (is_signed ? (double)(int32_t)bits : (double)bits);
}

/* ---- small kernels ---- */

void texture_load(struct engine *engine, const char *body)
{
    char text[4096];
    snprintf(text, sizeof text,
             ".version 8.1\n.target sm_75\n.address_size 64\n"
             ".visible .entry k(.param .u64 handle, .param .u64 out, .param .u32 x0,\n"
             ".param .u32 step, .param .u32 y, .param .u32 z)\n{\n"
             ".reg .b64 %%rd<9>; .reg .b32 %%r<16>; .reg .b16 %%h<9>; .reg .pred %%p<4>;\n"
             ".reg .b32 %%x; .reg .b32 %%y; .reg .b32 %%z; .reg .b32 %%t;\n"
             "ld.param.u64 %%rd1, [handle];\nld.param.u64 %%rd3, [out];\n"
             "ld.param.u32 %%x, [x0];\nld.param.u32 %%r1, [step];\n"
             "ld.param.u32 %%y, [y];\nld.param.u32 %%z, [z];\n"
             "mov.u32 %%t, %%tid.x;\nmad.lo.u32 %%x, %%t, %%r1, %%x;\n"
             "mul.wide.u32 %%rd2, %%t, 64;\nadd.u64 %%rd3, %%rd3, %%rd2;\n%s\nret;\n}\n",
             body);
    engine_load_text(engine, text);
}
