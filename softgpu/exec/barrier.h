/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, and waits for lanes of one warp. */
#ifndef SOFTGPU_EXEC_BARRIER_H
#define SOFTGPU_EXEC_BARRIER_H

#include "softgpu/exec/warp.h"

/* The group has arrived at a barrier; it may or may not be READY afterwards. */
bool sg_barrier_arrive(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                       uint32_t mask);
void sg_barrier_threads_gone(struct sg_block *block);

/* True: the lanes that `group` named are here, so the instruction is executed now. False: it
 * waits. */
bool sg_collective_ready(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in);
void sg_collective_recheck(struct sg_warp *warp);

#endif
