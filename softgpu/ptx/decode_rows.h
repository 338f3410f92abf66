/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the register file: registers, temporaries and constants. */
#ifndef SOFTGPU_PTX_DECODE_ROWS_H
#define SOFTGPU_PTX_DECODE_ROWS_H

#include "softgpu/ptx/decode.h"

uint32_t sg_row_new(struct sg_decoder *decoder, unsigned kind);
uint32_t sg_row_const(struct sg_decoder *decoder, struct sg_const c);
uint32_t sg_row_literal(struct sg_decoder *decoder, uint64_t value, bool wide);
unsigned sg_row_kind_of(enum sg_type type);

/* A source operand used as `type` (only its bits count). */
uint32_t sg_row_source(struct sg_decoder *decoder, const struct sg_operand *operand,
                       enum sg_type type);

/* A destination register; for '_' a row that nobody reads. */
uint32_t sg_row_target(struct sg_decoder *decoder, const struct sg_operand *operand,
                       enum sg_type type);
uint32_t sg_row_reg(struct sg_decoder *decoder, uint32_t reg);
unsigned sg_row_kind(const struct sg_decoder *decoder, uint32_t row);

/* The instruction with offsets in place of row numbers, after places are assigned. */
struct sg_insn sg_row_patched(const struct sg_decoder *decoder, const struct sg_draft *draft);
void sg_rows_finish(struct sg_decoder *decoder);

/* For sg_kernel_code.rows; sets first_row and row_count of the functions. */
void sg_rows_table(struct sg_decoder *decoder);
uint32_t sg_rows_registers(const struct sg_decoder *decoder, uint32_t max_threads);

/* Bytes of shared memory that the system has before the kernel's own. */
uint64_t sg_shared_reserved(const struct sg_decoder *decoder);
/* `bytes` of the kernel's own, rounded up to a place with the alignment. */
uint64_t sg_shared_align(const struct sg_decoder *decoder, uint64_t bytes, uint64_t align);

/* The address of a variable, as an 8- or 4-byte row. */
uint32_t sg_row_address(struct sg_decoder *decoder, struct sg_ptx_var *var, uint64_t addend,
                        bool wide);

/* The low and the high half of a .b128 register */
void sg_row_pair(struct sg_decoder *decoder, const struct sg_operand *operand, uint32_t rows[2]);

/* Whether the value of the operand is known before the kernel begins. */
bool sg_operand_is_constant(struct sg_decoder *decoder, const struct sg_operand *operand);

#endif
