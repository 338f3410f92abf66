/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes mov, cvta and isspacep. */
#ifndef SOFTGPU_PTX_DECODE_MOVE_H
#define SOFTGPU_PTX_DECODE_MOVE_H

#include "softgpu/ptx/decode.h"

void sg_decode_mov(struct sg_decoder *decoder);
void sg_decode_cvta(struct sg_decoder *decoder);
void sg_decode_isspacep(struct sg_decoder *decoder);

/* Moves of a known value into a register that nothing else writes: the register becomes the
 * constant row, and the instruction disappears. Marks such instructions in `skip`. */
void sg_decode_constants(struct sg_decoder *decoder, uint8_t *skip);

#endif
