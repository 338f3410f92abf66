/* SPDX-License-Identifier: Apache-2.0 */
/* Finds evenly spaced rows. */
#ifndef SOFTGPU_PTX_DECODE_SHAPE_H
#define SOFTGPU_PTX_DECODE_SHAPE_H

#include "softgpu/ptx/decode_fast.h"

/* The rule, and whether 32-bit operands are signed where that matters. */
enum sg_shape_rule sg_shape_rule_of(const struct sg_op *op, bool *is_signed);

/* Fills in shape and known of all rows, and the rules of the drafts. */
void sg_shapes_find(struct sg_decoder *decoder, struct sg_fast_plan *plan);

/* The operand whose stride must not wrap around for an EXTEND or WIDE rule; 0: none has one */
uint32_t sg_shape_checked(const struct sg_fast_plan *plan, const struct sg_draft *draft,
                          enum sg_shape_rule rule);

#endif
