/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one warp: which of its groups is next. */
#ifndef SOFTGPU_EXEC_SCHED_H
#define SOFTGPU_EXEC_SCHED_H

#include "softgpu/exec/warp.h"

/* Executes an instruction that is not PLAIN, or is guarded, for the lanes of `mask`.
 * True: the group may simply continue. */
enum sg_stop {
    SG_STOP_POINT, /* choose again */
    SG_STOP_TURN,  /* the turn of this warp is over */
};
bool sg_run_special(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                    uint32_t mask, enum sg_stop *stop);
#define SG_SPIN_MAX 256 /* backward branches in one turn */

/* Runs the warp until it waits, ends, faults or has had its turn. True if it made progress. */
bool sg_warp_run(struct sg_warp *warp);

#endif
