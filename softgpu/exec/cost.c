/* SPDX-License-Identifier: Apache-2.0 */
/* Counts executed instructions. */
#include "softgpu/exec/cost.h"

#include "softgpu/exec/grid.h"
#include "softgpu/exec/program.h"

static _Atomic bool counting;

void sg_cost_count(bool wanted)
{
    atomic_store(&counting, wanted);
}

bool sg_cost_counted(void)
{
    return atomic_load(&counting);
}

void sg_cost_pass(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    struct sg_passes *passes = warp->block->passes;
    if (passes != NULL) {
        passes[in->imm].warps++;
        passes[in->imm].lanes += (uint64_t)__builtin_popcount(mask);
    }
}

static void cost_add(struct model_counts *counts, int kind, uint64_t count)
{
    if (count) {
        atomic_fetch_add_explicit(&counts->of[kind], count, memory_order_relaxed);
    }
}

void sg_cost_add(struct model_counts *counts, const struct sg_kernel_code *code,
                 const struct sg_passes *passes)
{
    uint64_t sums[MODEL_COUNTS] = {0};
    for (uint32_t b = 0; b < code->cost_count; b++) {
        for (int kind = 0; kind < MODEL_COUNTS; kind++) {
            uint64_t times = kind == MODEL_COUNT_BYTES ? passes[b].lanes : passes[b].warps;
            sums[kind] += times * code->costs[b].of[kind];
        }
    }
    for (int kind = 0; kind < MODEL_COUNTS; kind++) {
        cost_add(counts, kind, sums[kind]);
    }
}

void sg_cost_static(struct model_counts *counts, const struct sg_kernel_code *code, uint64_t warps)
{
    for (uint32_t b = 0; b < code->cost_count; b++) {
        for (int kind = 0; kind < MODEL_COUNTS; kind++) {
            uint64_t times = kind == MODEL_COUNT_BYTES ? warps * SG_LANES : warps;
            cost_add(counts, kind, times * code->costs[b].of[kind]);
        }
    }
}
