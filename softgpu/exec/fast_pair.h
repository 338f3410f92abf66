/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that turn pairs into rows or predicates, and those that leave the fast version
 * (fast.h). */
#ifndef SOFTGPU_EXEC_FAST_PAIR_H
#define SOFTGPU_EXEC_FAST_PAIR_H

#include "softgpu/exec/fast.h"

/* d = the row of the pair a, whose stride is imm */
sg_handler sg_fast_expand32, sg_fast_expand64;
/* Leaves if pair a, of stride b, wraps around as a signed or unsigned number. */
sg_handler sg_fast_check_s32, sg_fast_check_u32;
/* The handler for a comparison of pairs a and b with strides e and f, result d, by the name of the
 * operation on rows; NULL: there is none. */
sg_handler *sg_fast_compare(const char *name, int32_t stride_a, int32_t stride_b);

/* ---- several instructions in one ---- Each handler does several consecutive instructions and
 * continues after them. All of them stay in the code, so that branches may lead to the others, and
 * so that the first handler can leave the rest to them. */

/* A comparison and the branch that it guards; NULL: `compare` is none of the handlers above. */
sg_handler *sg_fast_compare_and_branch(sg_handler *compare);
/* A sum of pairs (wide: of 64 bits), the comparison whose `a` it is, and the branch; or NULL. */
sg_handler *sg_fast_step_and_branch(sg_handler *compare, bool wide);
/* A check, the next product, and the sum whose `a` it is. */
sg_handler sg_fast_index_s32, sg_fast_index_u32;

#endif
