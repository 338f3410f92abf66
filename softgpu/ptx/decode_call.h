/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes calls of .func. */
#ifndef SOFTGPU_PTX_DECODE_CALL_H
#define SOFTGPU_PTX_DECODE_CALL_H

#include "softgpu/ptx/decode.h"

/* The address of a function, which must be defined. */
uint32_t sg_row_function(struct sg_decoder *decoder, const struct sg_operand *operand);

/* The function's slot in this pass; the first mention makes one. */
uint32_t sg_func_slot(struct sg_decoder *decoder, struct sg_ptx_func *func);
void sg_decode_call(struct sg_decoder *decoder);

/* Formal parameters that are registers: taken at the function's begin, given before it returns. */
void sg_decode_take_parameters(struct sg_decoder *decoder);
void sg_decode_give_results(struct sg_decoder *decoder);
void sg_decode_calls_finish(struct sg_decoder *decoder);

#endif
