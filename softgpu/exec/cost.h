/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of executed instructions, by basic block. The name of an instruction gives its cost
 * (ptx/decode_cost.c). */
#ifndef SOFTGPU_EXEC_COST_H
#define SOFTGPU_EXEC_COST_H

#include "model/counts.h"

struct sg_cost { /* of a basic block executed once; BYTES: for one lane */
    uint32_t of[MODEL_COUNTS];
};

struct sg_kernel_code;
struct sg_insn;
struct sg_warp;
struct sg_block;

/* The first instruction of each basic block; imm: its number. */
void sg_cost_pass(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask);

struct sg_passes { /* executions of a basic block */
    uint64_t warps, lanes;
};

/* Adds the costs of `passes`, which is indexed by basic block. */
void sg_cost_add(struct model_counts *counts, const struct sg_kernel_code *code,
                 const struct sg_passes *passes);

/* The cost of every instruction once, for `warps` warps: an estimate without execution. */
void sg_cost_static(struct model_counts *counts, const struct sg_kernel_code *code, uint64_t warps);

#endif
