/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers: rows whose value is known before a kernel or block begins, and clocks, which
 * are instructions. The table of all of them is special.def. */
#ifndef SOFTGPU_PTX_DECODE_SPECIAL_H
#define SOFTGPU_PTX_DECODE_SPECIAL_H

#include "softgpu/ptx/decode.h"

/* The row of a special register that is no clock. */
uint32_t sg_row_special(struct sg_decoder *decoder, const struct sg_operand *operand, bool wide);

/* The handler of a clock, which writes field d; NULL: the operand is none. `wide`: 64 bits. */
sg_handler *sg_special_clock(const struct sg_operand *operand, bool *wide);

/* "%tid" as the operand "%tid.x" for component 0, and so on. False: it has no components. */
bool sg_special_component(struct sg_operand *operand, uint32_t component);

#endif
