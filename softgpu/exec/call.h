/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of .func: entering and leaving frames. */
#ifndef SOFTGPU_EXEC_CALL_H
#define SOFTGPU_EXEC_CALL_H

#include "softgpu/exec/warp.h"

const struct sg_callee *sg_code_callee(const struct sg_kernel_code *code, uint64_t address);

/* False: a fault. */
bool sg_call_enter(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in);

/* Lanes whose pointer differs from the first lane's stay behind. */
bool sg_call_enter_pointer(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in);
void sg_call_leave(struct sg_warp *warp, struct sg_group *group);
void sg_call_drop_lanes(struct sg_warp *warp, struct sg_group *group, uint32_t mask);
void sg_call_free_frames(struct sg_warp *warp);
/* Frees all frames of a block, and gives back what it has of the budget for them. */
void sg_call_end(struct sg_block *block);

#endif
