/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of rows: decode_shape.c finds them, decode_fast.c uses them. */
#ifndef SOFTGPU_PTX_DECODE_FAST_H
#define SOFTGPU_PTX_DECODE_FAST_H

#include "softgpu/ptx/decode.h"

enum sg_shape_kind {
    SG_SHAPE_UNSEEN,
    SG_SHAPE_EVEN,   /* within a half-warp: first + lane * stride, modulo the row's width */
    SG_SHAPE_UNEVEN, /* anything */
};

struct sg_shape {
    enum sg_shape_kind kind;
    int32_t stride;
};

/* The shape of a result when the operands are evenly spaced. */
enum sg_shape_rule {
    SG_RULE_NONE, /* not an operation on pairs */
    SG_RULE_SAME, /* evenly spaced with stride 0 if all operands are */
    SG_RULE_ADD,
    SG_RULE_SUB,
    SG_RULE_MUL,
    SG_RULE_MAD,
    SG_RULE_SHL,
    SG_RULE_MOV,
    SG_RULE_EXTEND, /* 32 to 64 bits: only if the values of a half-warp do not wrap around */
    SG_RULE_MUL_WIDE,
    SG_RULE_MAD_WIDE,
};

struct sg_fast_row_plan {
    struct sg_shape shape;
    bool full;      /* an instruction reads the row itself */
    bool wanted;    /* an instruction reads it as a pair */
    uint32_t pair;  /* offset */
    uint32_t known; /* 1 + index of the constant */
};

struct sg_fast_plan {
    struct sg_fast_row_plan *rows; /* by row number */
    uint8_t *rules;                /* of each draft: enum sg_shape_rule */
};

static inline bool sg_is_even(const struct sg_fast_plan *plan, uint32_t row)
{
    return plan->rows[row].shape.kind == SG_SHAPE_EVEN;
}

/* Instructions for undiverged warps: begun while operands are rows, finished when they have places;
 * the pairs begin at *cursor. NULL: none. */
struct sg_fast_plan *sg_fast_begin(struct sg_decoder *decoder);
void sg_fast_place(struct sg_decoder *decoder, struct sg_fast_plan *plan, uint32_t *cursor);
void sg_fast_finish(struct sg_decoder *decoder, const struct sg_fast_plan *plan);

#endif
