/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of a multiprocessor that a kernel uses, counted while it runs for the timing model.
 *
 * Note: the unit is one instruction of a whole warp, whatever number of its lanes take part, as on
 * hardware; only bytes are counted by lane. */
#ifndef SOFTGPU_ENGINE_COST_H
#define SOFTGPU_ENGINE_COST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum sg_cost_kind {
    SG_COST_ISSUE, /* every instruction */
    SG_COST_F32,   /* operations in single precision and below */
    SG_COST_F64,
    SG_COST_INT,
    SG_COST_SPECIAL, /* rcp, sqrt, sin, ... */
    SG_COST_MATRIX,  /* multiplications of mma, 32 as one */
    SG_COST_SHARED,  /* 4 bytes of shared memory for each lane */
    SG_COST_GLOBAL,  /* accesses to global and local memory, textures, surfaces */
    SG_COST_BYTES,   /* bytes of these accesses */
    SG_COSTS
};

struct sg_counts { /* of a grid and what it launches */
    _Atomic uint64_t of[SG_COSTS];
};

/* Whether programs that are loaded from now on can be counted, which costs one more instruction in
 * each basic block. Called before the first program is loaded. */
void sg_cost_count(bool wanted);
bool sg_cost_counted(void);

#endif
