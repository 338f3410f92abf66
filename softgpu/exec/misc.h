/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers other than arithmetic: clocks, fences, addresses in the call frame, and operations of a
 * whole warp. Not compiled per instruction set. */
#ifndef SOFTGPU_EXEC_MISC_H
#define SOFTGPU_EXEC_MISC_H

#include "softgpu/exec/insn.h"

sg_handler sg_misc_frame64, sg_misc_frame32; /* d = frame + imm */
sg_handler sg_misc_clock32, sg_misc_clock32_hi, sg_misc_clock64, sg_misc_globaltimer;
sg_handler sg_misc_globaltimer_lo, sg_misc_globaltimer_hi;
sg_handler sg_misc_fence, sg_misc_nothing, sg_misc_activemask;

/* d = whether the address in row a is within window imm (enum sg_window) */
enum sg_window { SG_IN_GLOBAL, SG_IN_SHARED, SG_IN_LOCAL, SG_IN_PARAM, SG_IN_CONST };
sg_handler sg_misc_isspacep;

/* d: the top of the stack; a: the new top; a: bytes, mode: log2 of the alignment, d: the address.
 * imm: a struct sg_call whose caller_frame is the lower limit. */
sg_handler sg_stack_save, sg_stack_restore, sg_stack_alloca;

/* d value, f predicate (0: none); a, b, c as in PTX */
sg_handler sg_shfl_up, sg_shfl_down, sg_shfl_bfly, sg_shfl_idx;

/* d result, a predicate, imm: nonzero to negate it */
sg_handler sg_vote_all, sg_vote_any, sg_vote_uni, sg_vote_ballot;

/* d mask, a value, f predicate */
sg_handler sg_match_any32, sg_match_any64, sg_match_all32, sg_match_all64;
sg_handler sg_redux_add, sg_redux_and, sg_redux_or, sg_redux_xor, sg_redux_min_u32,
    sg_redux_max_u32, sg_redux_min_s32, sg_redux_max_s32;
sg_handler sg_atomic_vector; /* checks the alignment of the whole vector */

#endif
