/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that kernels call and the driver provides. A call is a PLAIN instruction whose imm is
 * the index of its struct sg_call: in[k].from and out[0].to are the places of arguments and result
 * in the caller's frame. */
#ifndef SOFTGPU_EXEC_BUILTIN_H
#define SOFTGPU_EXEC_BUILTIN_H

#include "softgpu/exec/warp.h"

#define SG_BUILTIN_ARGUMENTS 8

sg_handler sg_builtin_vprintf, sg_builtin_assertfail;
sg_handler sg_builtin_set_conditional;
sg_handler sg_builtin_malloc, sg_builtin_aligned_malloc, sg_builtin_free;

static inline const struct sg_call *sg_builtin_call(const struct sg_warp *warp,
                                                    const struct sg_insn *in)
{
    return sg_block_call(warp->block, (uint32_t)in->imm);
}

/* The lane's argument `index`, of 8 bytes at most. */
static inline uint64_t sg_builtin_argument(const struct sg_warp *warp, const struct sg_call *call,
                                           uint32_t index, unsigned lane)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < call->in[index].bytes && i < sizeof value; i++) {
        uint64_t byte = *sg_local_at(warp, lane, warp->sp + call->in[index].from + i);
        value |= byte << (8 * i);
    }
    return value;
}

/* Writes the result, if the caller has declared one. */
static inline void sg_builtin_return(struct sg_warp *warp, const struct sg_call *call,
                                     unsigned lane, uint64_t value)
{
    for (uint32_t i = 0; call->out_count != 0 && i < call->out[0].bytes && i < 8; i++) {
        *sg_local_at(warp, lane, warp->sp + call->out[0].to + i) = (uint8_t)(value >> (8 * i));
    }
}

#endif
