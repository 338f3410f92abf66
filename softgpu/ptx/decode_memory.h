/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes loads and stores, and addresses. */
#ifndef SOFTGPU_PTX_DECODE_MEMORY_H
#define SOFTGPU_PTX_DECODE_MEMORY_H

#include "softgpu/ptx/decode.h"

/* An address in brackets, as a row and a constant offset. *space becomes that of the named
 * variable; FRAME if there is no row. The row is 4 bytes wide for shared memory, otherwise 8. */
uint32_t sg_row_place(struct sg_decoder *decoder, const struct sg_operand *operand,
                      enum sg_mem_space *space, int64_t *offset);

/* The handle in a texture or surface reference at the time of the instruction. */
uint32_t sg_row_reference(struct sg_decoder *decoder, struct sg_ptx_var *var);

/* An address in brackets, as an 8-byte row with the generic address, for instructions that are too
 * rare to distinguish the spaces. Local memory and parameters are refused. */
uint32_t sg_row_generic(struct sg_decoder *decoder, const struct sg_operand *operand,
                        enum sg_mem_space space);
void sg_decode_load(struct sg_decoder *decoder);
void sg_decode_store(struct sg_decoder *decoder);

/* The access that moves an element of `type` between memory and a row of that kind
 *. */
enum sg_mem_type sg_mem_type(struct sg_decoder *decoder, enum sg_type type, unsigned kind);

#endif
