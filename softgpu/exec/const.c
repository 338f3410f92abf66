/* SPDX-License-Identifier: Apache-2.0 */
/* Constant rows: immediates, addresses of variables, parameters and special registers. They are
 * written to a warp's register file before the kernel begins. */
#include "softgpu/exec/const.h"

#include <string.h>

#include "softgpu/exec/fast.h"
#include "softgpu/exec/grid.h"

static uint64_t param_value(const struct sg_const *c, const void *params)
{
    uint64_t value = 0;
    memcpy(&value, (const uint8_t *)params + c->value, c->bytes);
    if (c->index && c->bytes < 8) {
        unsigned shift = 64 - 8 * c->bytes;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return value;
}

static uint32_t lane_mask(enum sg_special which, unsigned lane)
{
    uint32_t eq = 1u << lane;
    switch (which) {
    case SG_SPECIAL_LANEMASK_EQ:
        return eq;
    case SG_SPECIAL_LANEMASK_LE:
        return eq | (eq - 1);
    case SG_SPECIAL_LANEMASK_LT:
        return eq - 1;
    case SG_SPECIAL_LANEMASK_GE:
        return ~(eq - 1);
    default:
        return ~(eq | (eq - 1));
    }
}

static uint32_t thread_id(const uint32_t *block, uint32_t thread, unsigned axis)
{
    switch (axis) {
    case 0:
        return thread % block[0];
    case 1:
        return thread / block[0] % block[1];
    default:
        return thread / block[0] / block[1];
    }
}

/* Bytes of a block without what is reserved, in units of its allocation. */
static uint32_t total_shared(const struct sg_grid *grid)
{
    uint32_t unit = grid->launch->shared_unit != 0 ? grid->launch->shared_unit : 1;
    uint32_t bytes = (uint32_t)grid->shared_bytes - grid->code->reserved_bytes;
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t special_value(enum sg_special which, const struct sg_warp *warp,
                              const struct sg_grid *grid, unsigned lane)
{
    const struct sg_launch *launch = grid->launch;
    switch (which) {
    case SG_SPECIAL_TID_X:
    case SG_SPECIAL_TID_Y:
    case SG_SPECIAL_TID_Z:
        return thread_id(launch->block, warp->index * SG_LANES + lane, which - SG_SPECIAL_TID_X);
    case SG_SPECIAL_NTID_X:
    case SG_SPECIAL_NTID_Y:
    case SG_SPECIAL_NTID_Z:
        return launch->block[which - SG_SPECIAL_NTID_X];
    case SG_SPECIAL_NCTAID_X:
    case SG_SPECIAL_NCTAID_Y:
    case SG_SPECIAL_NCTAID_Z:
        return launch->grid[which - SG_SPECIAL_NCTAID_X];
    case SG_SPECIAL_LANEID:
        return lane;
    case SG_SPECIAL_WARPID:
        return warp->index;
    case SG_SPECIAL_NWARPID:
        return launch->warps_sm ? launch->warps_sm : 32;
    case SG_SPECIAL_NSMID:
        return launch->sm_count ? launch->sm_count : 1;
    case SG_SPECIAL_DYNAMIC_SMEM:
        return launch->dynamic_shared;
    case SG_SPECIAL_TOTAL_SMEM:
        return total_shared(grid);
    case SG_SPECIAL_AGGR_SMEM:
        return total_shared(grid) + launch->shared_reserved;
    case SG_SPECIAL_LANEMASK_EQ:
    case SG_SPECIAL_LANEMASK_LE:
    case SG_SPECIAL_LANEMASK_LT:
    case SG_SPECIAL_LANEMASK_GE:
    case SG_SPECIAL_LANEMASK_GT:
        return lane_mask(which, lane);
    case SG_SPECIAL_GRIDID:
        return grid->id;
    case SG_SPECIAL_ENVREG1:
        return (uint32_t)((uint64_t)(uintptr_t)launch->workspace >> 32);
    case SG_SPECIAL_ENVREG2:
        return (uint32_t)(uintptr_t)launch->workspace;
    case SG_SPECIAL_NCLUSTERID_X:
    case SG_SPECIAL_NCLUSTERID_Y:
    case SG_SPECIAL_NCLUSTERID_Z:
        return launch->grid[which - SG_SPECIAL_NCLUSTERID_X] /
               grid->cluster[which - SG_SPECIAL_NCLUSTERID_X];
    case SG_SPECIAL_CLUSTER_NCTAID_X:
    case SG_SPECIAL_CLUSTER_NCTAID_Y:
    case SG_SPECIAL_CLUSTER_NCTAID_Z:
        return grid->cluster[which - SG_SPECIAL_CLUSTER_NCTAID_X];
    case SG_SPECIAL_CLUSTER_NCTARANK:
        return grid->cluster_blocks;
    case SG_SPECIAL_IS_EXPLICIT_CLUSTER:
        return launch->cluster[0] || launch->kernel->cluster[0];
    default: /* block-dependent ones come later */
        return 0;
    }
}

static uint64_t const_value(const struct sg_const *c, const struct sg_warp *warp,
                            const struct sg_grid *grid, unsigned lane)
{
    switch (c->kind) {
    case SG_CONST_LITERAL:
        return c->value;
    case SG_CONST_VARIABLE:
        return grid->launch->image->addresses[c->index] + c->value;
    case SG_CONST_PARAM:
        return param_value(c, grid->launch->params);
    case SG_CONST_DYNAMIC_SHARED:
        return grid->code->kernel.shared_bytes + c->value;
    default:
        return special_value((enum sg_special)c->index, warp, grid, lane);
    }
}

static void fill_row(struct sg_warp *warp, const struct sg_const *c, uint64_t value)
{
    if (c->wide) {
        uint64_t *row = sg_row(warp, c->offset);
        for (int i = 0; i < SG_LANES; i++) {
            row[i] = value;
        }
    } else {
        uint32_t *row = sg_row(warp, c->offset);
        for (int i = 0; i < SG_LANES; i++) {
            row[i] = (uint32_t)value;
        }
    }
}

static void fill_lanes(struct sg_warp *warp, const struct sg_const *c, const struct sg_grid *grid)
{
    for (unsigned lane = 0; lane < SG_LANES; lane++) {
        uint64_t value = const_value(c, warp, grid, lane);
        if (c->wide) {
            ((uint64_t *)sg_row(warp, c->offset))[lane] = value;
        } else {
            ((uint32_t *)sg_row(warp, c->offset))[lane] = (uint32_t)value;
        }
    }
}

static void fill_pair(struct sg_warp *warp, const struct sg_const *c, uint64_t low, uint64_t high)
{
    if (c->wide) {
        uint64_t *pair = sg_row(warp, c->pair);
        pair[0] = low;
        pair[1] = high;
    } else {
        uint32_t *pair = sg_row(warp, c->pair);
        pair[0] = (uint32_t)low;
        pair[1] = (uint32_t)high;
    }
}

void sg_consts_fill(struct sg_warp *warp, const struct sg_grid *grid)
{
    for (uint32_t k = grid->code->block_const_count; k < grid->code->const_count; k++) {
        const struct sg_const *c = &grid->code->consts[k];
        if (sg_const_by_lane(c)) {
            fill_lanes(warp, c, grid);
        } else {
            fill_row(warp, c, const_value(c, warp, grid, 0));
        }
        if (c->pair) {
            fill_pair(warp, c, const_value(c, warp, grid, 0), const_value(c, warp, grid, SG_HALF));
        }
    }
}

static uint64_t block_value(uint32_t which, const struct sg_block *block)
{
    const struct sg_grid *grid = block->grid;
    uint32_t sms = grid->launch->sm_count ? grid->launch->sm_count : 1;
    if (which == SG_SPECIAL_SMID) {
        return block->linear % sms;
    }
    if (which == SG_SPECIAL_CLUSTER_CTARANK) {
        return block->cluster_rank;
    }
    if (which >= SG_SPECIAL_CLUSTER_CTAID_X) {
        uint32_t axis = which - SG_SPECIAL_CLUSTER_CTAID_X;
        return block->id[axis] % grid->cluster[axis];
    }
    if (which >= SG_SPECIAL_CLUSTERID_X) {
        uint32_t axis = which - SG_SPECIAL_CLUSTERID_X;
        return block->id[axis] / grid->cluster[axis];
    }
    return block->id[which - SG_SPECIAL_CTAID_X];
}

void sg_consts_fill_block(struct sg_warp *warp, bool fast)
{
    const struct sg_kernel_code *code = warp->block->code;
    const uint64_t *values = warp->block->const_values;
    const struct sg_const *c = code->consts, *end = c + code->block_const_count;
    for (; c < end; c++) {
        const uint64_t value = *values++;
        if (!fast || !c->pair_only) {
            fill_row(warp, c, value);
        }
        if (fast && c->pair) {
            fill_pair(warp, c, value, value);
        }
    }
}

void sg_consts_of_block(struct sg_block *block)
{
    const struct sg_kernel_code *code = block->code;
    for (uint32_t k = 0; k < code->block_const_count; k++) {
        block->const_values[k] = block_value(code->consts[k].index, block);
    }
}
