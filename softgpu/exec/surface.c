/* SPDX-License-Identifier: Apache-2.0 */
/* suld, sust, sured, lane by lane: there is little arithmetic, and addresses are arbitrary. Data
 * races between kernels are their own, hence compiled without TSan. */
#include <math.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/query.h"
#include "softgpu/exec/tex.h"

/* ---- where ---- */

struct surface {
    struct sg_warp *warp;
    const struct sg_insn *in;
    const struct sg_object *object;
    struct sg_surface_form form;
    const uint32_t *rows; /* the row list */
};

enum where { WHERE_HERE, WHERE_NOWHERE, WHERE_FAULT };

static int64_t coordinate(const struct surface *s, unsigned index, unsigned lane)
{
    uint32_t offset = s->rows[index];
    return offset ? ((const int32_t *)sg_row(s->warp, offset))[lane] : 0;
}

/* False: out of bounds. Clamps coordinates if the instruction says so. */
static bool fit(const struct surface *s, int64_t *at, int64_t count)
{
    if (s->form.bounds == SG_BOUNDS_CLAMP) {
        *at = *at < 0 ? 0 : *at >= count ? count - 1 : *at;
    }
    return *at >= 0 && *at < count;
}

static enum where fault(const struct surface *s, unsigned lane, enum sg_fault_code code,
                        uint64_t address, const char *text)
{
    sg_warp_fault(s->warp, s->in, lane, code, address, text);
    return WHERE_FAULT;
}

/* Finds the address of the lane's `bytes`. x counts bytes, or texels if `formatted`. */
static enum where locate(const struct surface *s, unsigned lane, uint32_t bytes, uint8_t **where)
{
    const struct sg_texels *texels = &s->object->texels;
    const struct sg_level *level = &texels->levels[0];
    const unsigned geometry = s->form.geometry;
    const bool layered = geometry == SG_GEOMETRY_A1D || geometry == SG_GEOMETRY_A2D;
    const int64_t width = (int64_t)level->width * sg_texel_bytes(texels);
    int64_t x = coordinate(s, SG_SURFACE_COORD, lane) * (s->form.formatted ? bytes : 1);
    int64_t y = coordinate(s, SG_SURFACE_COORD + 1, lane);
    int64_t z = coordinate(s, SG_SURFACE_COORD + 2, lane);
    int64_t layer = (uint32_t)coordinate(s, SG_SURFACE_LAYER, lane);
    uint32_t slices = layered ? texels->layers : level->depth;
    if (!fit(s, &x, width - bytes + 1) || !fit(s, &y, level->height) ||
        !fit(s, layered ? &layer : &z, slices)) {
        return s->form.bounds == SG_BOUNDS_TRAP
                   ? fault(s, lane, SG_FAULT_TRAP, 0, "surface access out of bounds")
                   : WHERE_NOWHERE;
    }
    uint64_t address = level->base + (uint64_t)x + (uint64_t)y * level->row_bytes +
                       (uint64_t)(layered ? layer : z) * level->slice_bytes;
    const unsigned need = s->form.op == SG_SURFACE_LOAD    ? SG_MAP_READ
                          : s->form.op == SG_SURFACE_STORE ? SG_MAP_WRITE
                                                           : SG_MAP_READ | SG_MAP_WRITE;
    /* x counts bytes, so it may name any element; a whole texel is aligned */
    uint32_t align = s->form.formatted ? 1 : bytes;
    if (address & (align - 1)) {
        return fault(s, lane, SG_FAULT_MISALIGNED, address, "misaligned surface access");
    }
    if (!sg_map_allows(s->warp->map, address, bytes, need)) {
        return fault(s, lane, SG_FAULT_ILLEGAL_ADDRESS, address,
                     "surface whose memory is not there");
    }
    *where = (uint8_t *)(uintptr_t)address;
    return WHERE_HERE;
}

/* ---- loads and stores of bytes ---- */

static void element_put(const struct surface *s, unsigned k, unsigned lane, uint64_t value)
{
    uint32_t offset = s->rows[SG_SURFACE_VALUE + k];
    if (offset && s->form.bytes == 8) {
        ((uint64_t *)sg_row(s->warp, offset))[lane] = value;
    } else if (offset) {
        ((uint32_t *)sg_row(s->warp, offset))[lane] = (uint32_t)value;
    }
}

static uint64_t element_get(const struct surface *s, unsigned k, unsigned lane)
{
    void *row = sg_row(s->warp, s->rows[SG_SURFACE_VALUE + k]);
    return s->form.bytes == 8 ? ((const uint64_t *)row)[lane] : ((const uint32_t *)row)[lane];
}

static bool surface_load(const struct surface *s, unsigned lane)
{
    const uint32_t bytes = s->form.bytes;
    uint8_t *at = NULL;
    enum where where = locate(s, lane, bytes * s->form.count, &at);
    for (unsigned k = 0; where != WHERE_FAULT && k < s->form.count; k++) {
        uint64_t value = 0;
        if (where == WHERE_HERE) {
            memcpy(&value, at + (size_t)k * bytes, bytes);
        }
        element_put(s, k, lane, value);
    }
    return where != WHERE_FAULT;
}

static bool surface_store(const struct surface *s, unsigned lane)
{
    const uint32_t bytes = s->form.bytes;
    uint8_t *at = NULL;
    enum where where = locate(s, lane, bytes * s->form.count, &at);
    for (unsigned k = 0; where == WHERE_HERE && k < s->form.count; k++) {
        uint64_t value = element_get(s, k, lane);
        memcpy(at + (size_t)k * bytes, &value, bytes);
    }
    return where != WHERE_FAULT;
}

/* ---- sust.p: values become what the surface's format is ---- */

static int32_t scaled(float value, float least, float most)
{
    value = value == value ? value : 0;
    value = value < least ? least : value > 1 ? 1 : value;
    return (int32_t)rintf(value * most);
}

static uint32_t clamp_signed(uint32_t bits, int32_t most)
{
    int32_t value = (int32_t)bits;
    return (uint32_t)(value > most ? most : value < -most - 1 ? -most - 1 : value);
}

static uint32_t clamp_unsigned(uint32_t bits, uint32_t most)
{
    return bits > most ? most : bits;
}

static uint32_t formatted(const struct sg_texels *texels, uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    switch (texels->channel) {
    case SG_CHANNEL_U8:
        return texels->normalised ? (uint32_t)scaled(value, 0, 255) : clamp_unsigned(bits, 255);
    case SG_CHANNEL_S8:
        return texels->normalised ? (uint32_t)scaled(value, -1, 127) : clamp_signed(bits, 127);
    case SG_CHANNEL_U16:
        return texels->normalised ? (uint32_t)scaled(value, 0, 65535) : clamp_unsigned(bits, 65535);
    case SG_CHANNEL_S16:
        return texels->normalised ? (uint32_t)scaled(value, -1, 32767) : clamp_signed(bits, 32767);
    case SG_CHANNEL_HALF:
        return sg_half_from_float(value);
    default:
        return bits;
    }
}

static bool store_formatted(const struct surface *s, unsigned lane)
{
    const struct sg_texels *texels = &s->object->texels;
    const uint32_t bytes = sg_channel_bytes(texels->channel);
    uint8_t *at = NULL;
    enum where where = locate(s, lane, bytes * texels->channels, &at);
    for (unsigned k = 0; where == WHERE_HERE && k < texels->channels; k++) {
        uint32_t value = k < s->form.count ? (uint32_t)element_get(s, k, lane) : 0;
        value = formatted(texels, value);
        memcpy(at + (size_t)k * bytes, &value, bytes);
    }
    return where != WHERE_FAULT;
}

/* ---- reductions ---- */

static uint64_t combine(const struct sg_surface_form *form, bool is_signed, uint64_t old,
                        uint64_t value)
{
    bool less = is_signed ? form->bytes == 8 ? (int64_t)value < (int64_t)old
                                             : (int32_t)(uint32_t)value < (int32_t)(uint32_t)old
                          : value < old;
    switch ((enum sg_reduction)form->reduction) {
    case SG_SURED_ADD:
        return old + value;
    case SG_SURED_MIN:
        return less ? value : old;
    case SG_SURED_MAX:
        return less ? old : value;
    case SG_SURED_AND:
        return old & value;
    default:
        return old | value;
    }
}

static void reduce_at(const struct surface *s, bool is_signed, void *at, uint64_t value)
{
    if (s->form.bytes == 8) {
        uint64_t *word = at, old = __atomic_load_n(word, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(word, &old, combine(&s->form, is_signed, old, value),
                                            true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
        }
        return;
    }
    uint32_t *word = at, old = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(word, &old,
                                        (uint32_t)combine(&s->form, is_signed, old, value), true,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
}

static bool reduce(const struct surface *s, unsigned lane)
{
    const enum sg_channel channel = s->object->texels.channel;
    const bool is_signed = s->form.is_signed == 2
                               ? channel >= SG_CHANNEL_S8 && channel <= SG_CHANNEL_S32
                               : s->form.is_signed != 0;
    uint8_t *at = NULL;
    enum where where = locate(s, lane, s->form.bytes, &at);
    if (where == WHERE_HERE && ((uintptr_t)at & (s->form.bytes - 1u))) {
        where = fault(s, lane, SG_FAULT_MISALIGNED, (uint64_t)(uintptr_t)at,
                      "misaligned surface access");
    }
    if (where == WHERE_HERE) {
        reduce_at(s, is_signed, at, element_get(s, 0, lane));
    }
    return where != WHERE_FAULT;
}

void sg_surface(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *handles = sg_row(warp, in->a);
    struct surface s = {
        .warp = warp, .in = in, .form = sg_surface_form_of(in), .rows = sg_row_list(warp, in)};
    bool (*const one)(const struct surface *, unsigned) = s.form.op == SG_SURFACE_LOAD
                                                              ? surface_load
                                                          : s.form.op == SG_SURFACE_REDUCE ? reduce
                                                          : s.form.formatted ? store_formatted
                                                                             : surface_store;
    for (uint32_t left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (s.object == NULL || s.object->handle != handles[lane]) {
            s.object = sg_tex_object(warp, in, lane, handles[lane], SG_OBJECT_SURFACE);
        }
        if (s.object == NULL || !one(&s, lane)) {
            return;
        }
    }
}
