/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what kernels execute, by basic block. Each instruction has its cost from what it is
 * called (ptx/decode_cost.c). */
#ifndef SOFTGPU_EXEC_COST_H
#define SOFTGPU_EXEC_COST_H

#include "softgpu/engine/cost.h"

struct sg_cost { /* of a basic block: once through it; BYTES: of one lane */
    uint32_t of[SG_COSTS];
};

struct sg_kernel_code;
struct sg_insn;
struct sg_warp;
struct sg_block;

/* Stands at the head of each basic block; imm: which one. */
void sg_cost_pass(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask);

struct sg_passes { /* through a basic block */
    uint64_t warps, lanes;
};

/* Adds what was passed, `passes` by basic block. */
void sg_cost_add(struct sg_counts *counts, const struct sg_kernel_code *code,
                 const struct sg_passes *passes);

/* The cost of every instruction once, by `warps` warps: an estimate without running. */
void sg_cost_static(struct sg_counts *counts, const struct sg_kernel_code *code, uint64_t warps);

#endif
