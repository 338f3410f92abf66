/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes arithmetic and logic. */
#ifndef SOFTGPU_PTX_DECODE_ALU_H
#define SOFTGPU_PTX_DECODE_ALU_H

#include "softgpu/ptx/decode.h"

void sg_decode_alu(struct sg_decoder *decoder);
void sg_decode_carry(struct sg_decoder *decoder);

#endif
