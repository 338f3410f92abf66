/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface instructions, as the decoder encodes them for their handlers: a form in
 * `imm`, the handle (or its address's row) in `a`, and a row list (sg_row_list). */
#ifndef SOFTGPU_EXEC_TEX_H
#define SOFTGPU_EXEC_TEX_H

#include <string.h>
#include "softgpu/engine/texture.h"
#include "softgpu/exec/warp.h"

enum sg_geometry {
    SG_GEOMETRY_1D,
    SG_GEOMETRY_2D,
    SG_GEOMETRY_3D,
    SG_GEOMETRY_A1D,
    SG_GEOMETRY_A2D,
    SG_GEOMETRY_CUBE,
    SG_GEOMETRY_ACUBE
};
enum sg_lod_mode { SG_LOD_BASE, SG_LOD_LEVEL, SG_LOD_GRAD };
enum sg_tex_result { SG_TEX_B32, SG_TEX_F16, SG_TEX_F16X2 };

/* tex and tld4. d: predicate "is resident" (0: not used) */
struct sg_tex_form {
    uint8_t geometry, lod, result;
    uint8_t gather;  /* tld4: component + 1 */
    uint8_t integer; /* coordinates (and level) are .s32 */
    uint8_t offsets;
};

enum sg_tex_row { /* places in the row list */
                  SG_TEX_RESULT = 0,
                  SG_TEX_LAYER = 4,
                  SG_TEX_COORD = 5,
                  SG_TEX_LOD = 8, /* LEVEL: 1; GRAD: dPdx, 3, and dPdy, 3 */
                  SG_TEX_OFFSET = 14,
                  SG_TEX_ROWS = 17
};

enum sg_surface_op { SG_SURFACE_LOAD, SG_SURFACE_STORE, SG_SURFACE_REDUCE };
enum sg_surface_bounds { SG_BOUNDS_TRAP, SG_BOUNDS_CLAMP, SG_BOUNDS_ZERO };
enum sg_reduction { SG_SURED_ADD, SG_SURED_MIN, SG_SURED_MAX, SG_SURED_AND, SG_SURED_OR };

/* suld, sust, sured */
struct sg_surface_form {
    uint8_t geometry, op, bounds;
    uint8_t bytes, count;         /* of each element; elements */
    uint8_t formatted;            /* x counts texels; sust.p: elements are converted */
    uint8_t reduction, is_signed; /* is_signed 2: as the surface's format */
};

enum sg_surface_row {
    SG_SURFACE_VALUE = 0,
    SG_SURFACE_LAYER = 4,
    SG_SURFACE_COORD = 5,
    SG_SURFACE_ROWS = 8
};

enum sg_query { /* txq and suq */
                SG_QUERY_WIDTH,
                SG_QUERY_HEIGHT,
                SG_QUERY_DEPTH,
                SG_QUERY_CHANNEL_DATA_TYPE,
                SG_QUERY_ARRAY_SIZE,
                SG_QUERY_LEVELS,
                SG_QUERY_SAMPLES,
                SG_QUERY_NORMALIZED_COORDS,
                SG_QUERY_FILTER_MODE,
                SG_QUERY_ADDR_MODE_0,
                SG_QUERY_ADDR_MODE_1,
                SG_QUERY_ADDR_MODE_2
};

_Static_assert(sizeof(struct sg_tex_form) <= 8 && sizeof(struct sg_surface_form) <= 8, "");
static inline struct sg_tex_form sg_tex_form_of(const struct sg_insn *in)
{
    struct sg_tex_form form;
    memcpy(&form, &in->imm, sizeof form);
    return form;
}
static inline struct sg_surface_form sg_surface_form_of(const struct sg_insn *in)
{
    struct sg_surface_form form;
    memcpy(&form, &in->imm, sizeof form);
    return form;
}

sg_handler sg_surface;

/* d; mode: enum sg_query; b: level, 0: the first; imm: enum sg_object_kind */
sg_handler sg_tex_query;

/* d: predicate; imm: enum sg_object_kind */
sg_handler sg_istypep;

/* IEEE half precision, to nearest even. */
static inline float sg_half_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f; /* subnormals are right, too */
    memcpy(&bits, &value, sizeof bits);
    bits = (half & 0x7c00) == 0x7c00 ? bits | 0x7f800000 : bits;
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t sg_half_from_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) {
        return (uint16_t)0x7fff;
    }
    if (size >= 0x477ff000) { /* rounds to a number beyond half's range */
        return (uint16_t)(sign | 0x7c00);
    }
    if (size < 0x38800000) { /* subnormal: the last place of the sum is that of half */
        float sum;
        memcpy(&sum, &size, sizeof sum);
        sum += 0.5f;
        memcpy(&bits, &sum, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    uint32_t odd = size >> 13 & 1;
    return (uint16_t)(sign | ((size - 0x38000000 + 0xfff + odd) >> 13));
}

#endif
