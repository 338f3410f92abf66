/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of instructions, and the beginnings of basic blocks. */
#ifndef SOFTGPU_PTX_DECODE_COST_H
#define SOFTGPU_PTX_DECODE_COST_H

#include "softgpu/ptx/decode.h"

/* For each instruction, whether a basic block begins there. NULL: programs are not counted. */
uint8_t *sg_cost_heads(struct sg_decoder *decoder, const struct sg_ptx_func *func);
void sg_cost_begin(struct sg_decoder *decoder);
void sg_cost_insn(struct sg_decoder *decoder, const struct sg_ptx_insn *insn);
void sg_cost_finish(struct sg_decoder *decoder);

#endif
