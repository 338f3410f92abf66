/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers as rows. */
#ifndef SOFTGPU_PTX_DECODE_SPECIAL_H
#define SOFTGPU_PTX_DECODE_SPECIAL_H

#include "softgpu/ptx/decode.h"

/* The row of a special register. */
uint32_t sg_row_special(struct sg_decoder *decoder, const struct sg_operand *operand, bool wide);

#endif
