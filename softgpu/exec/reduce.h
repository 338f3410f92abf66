/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on words in memory, by operation and type, for instructions that are rarer than atom:
 * the reductions of bulk copies. Atomic for all threads of the process. */
#ifndef SOFTGPU_EXEC_REDUCE_H
#define SOFTGPU_EXEC_REDUCE_H

#include <stdint.h>

enum sg_reduce_op {
    SG_REDUCE_ADD,
    SG_REDUCE_MIN,
    SG_REDUCE_MAX,
    SG_REDUCE_INC,
    SG_REDUCE_DEC,
    SG_REDUCE_AND,
    SG_REDUCE_OR,
    SG_REDUCE_XOR,
};

enum sg_reduce_type {
    SG_REDUCE_U32,
    SG_REDUCE_S32,
    SG_REDUCE_U64,
    SG_REDUCE_S64,
    SG_REDUCE_F16,
    SG_REDUCE_BF16,
    SG_REDUCE_F32,
    SG_REDUCE_F64,
    SG_REDUCE_TYPES
};

unsigned sg_reduce_bytes(enum sg_reduce_type type);
/* *at = *at op value, both of sg_reduce_bytes(type) bytes; `at` aligned to that. */
void sg_reduce_word(enum sg_reduce_op op, enum sg_reduce_type type, void *at, const void *value);

#endif
