/* SPDX-License-Identifier: Apache-2.0 */
/* A block: its warps, shared and local memory in one mapping, which is made once and used for one
 * block of a grid after the other. */
#include "softgpu/exec/block.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "softgpu/exec/call.h"
#include "softgpu/exec/const.h"
#include "softgpu/exec/cost.h"
#include "softgpu/exec/fast.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/grid.h"
#include "softgpu/exec/group.h"
#include "softgpu/exec/pool.h"
#include "softgpu/exec/sched.h"
#include "softgpu/exec/warp.h"

/* Costs of turns: those of undiverged warps are shorter (SG_FAST_SPIN_MAX). */
#define TURN_COST      (SG_SPIN_MAX / SG_FAST_SPIN_MAX)
#define FAST_TURN_COST 1

/* Interval, in cost, at which a block checks whether its grid is over or another process has the
 * turn; it sees its own faults at once. */
#define LOOK_COST (8 * TURN_COST)

static size_t block_round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static _Atomic uint32_t alive; /* blocks of all grids */

uint32_t sg_blocks_alive(void)
{
    return atomic_load(&alive);
}

struct sg_block *sg_block_create(struct sg_grid *grid)
{
    const struct sg_launch *launch = grid->launch;
    size_t warps = (grid->threads + SG_LANES - 1) / SG_LANES;
    /* an odd number of cache lines between warps: the same row of each is in another cache set */
    size_t stride = block_round_up(grid->code->warp_bytes, 128) | 128;
    size_t shared = block_round_up((size_t)grid->shared_bytes, 4096);
    size_t local = block_round_up((size_t)grid->local_bytes, 8) * SG_LANES;
    size_t head = block_round_up(sizeof(struct sg_block), 4096);
    size_t passes =
        grid->launch->counts != NULL ? grid->code->cost_count * sizeof(struct sg_passes) : 0;
    size_t bytes = head + shared + local * warps + stride * warps + passes;
    struct sg_block *block = sg_pool_take_memory(grid->pool, launch->owner, &bytes);
    if (block == NULL) {
        return NULL;
    }
    memset(block, 0, sizeof *block);
    atomic_fetch_add(&alive, 1);
    block->grid = grid;
    block->code = grid->code;
    block->own.count = 1;
    block->own.blocks[0] = block;
    block->cluster = &block->own;
    block->bytes = bytes;
    block->warp_count = (uint32_t)warps;
    block->warp_stride = stride;
    block->shared = (uint8_t *)block + head;
    block->local = block->shared + shared;
    block->warps = block->local + local * warps;
    if (passes) {
        block->passes = (struct sg_passes *)(void *)(block->warps + stride * warps);
        memset(block->passes, 0, passes);
    }
    for (uint32_t w = 0; w < warps; w++) {
        struct sg_warp *warp = sg_block_warp(block, w);
        memset(warp, 0, sizeof *warp);
        warp->block = block;
        warp->map = launch->map;
        warp->shared = block->shared;
        warp->shared_bytes = grid->shared_bytes;
        warp->local = block->local + w * local;
        warp->local_bytes = grid->local_bytes;
        warp->params = launch->params;
        warp->param_bytes = grid->code->kernel.param_bytes;
        warp->index = w;
        sg_warp_empty_stacks(warp);
        sg_consts_fill(warp, grid);
    }
    return block;
}

void sg_block_destroy(struct sg_block *block)
{
    if (block == NULL) {
        return;
    }
    sg_call_end(block);
    if (block->passes != NULL) {
        sg_cost_add(block->grid->launch->counts, block->code, block->passes);
    }
    atomic_fetch_sub(&alive, 1);
    sg_pool_return_memory(block->grid->pool, block->grid->launch->owner, block, block->bytes);
}

static inline void block_start_warp(struct sg_warp *warp, uint32_t lanes)
{
    const struct sg_kernel_code *code = sg_block_code(warp->block);
    if (code->function_count > 1) {
        sg_call_free_frames(warp);
    }
    warp->live = lanes;
    warp->cluster_arrived = 0;
    warp->group_count = 1;
    warp->groups[0] = (struct sg_group){.mask = lanes};
    warp->spin = warp->fair = 0;
    warp->sp = 0;
    if (code->allocates) { /* nothing else moves them */
        sg_warp_empty_stacks(warp);
    }
    warp->faulted = false;
}

void sg_block_begin(struct sg_block *block, uint64_t linear)
{
    const struct sg_grid *grid = block->grid;
    const uint32_t *size = grid->launch->grid;
    block->linear = linear;
    if (linear < size[0]) { /* divisions cost as much as the begin of a warp */
        block->id[0] = (uint32_t)linear;
        block->id[1] = block->id[2] = 0;
    } else {
        uint64_t row = linear / size[0];
        block->id[0] = (uint32_t)(linear % size[0]);
        block->id[1] = (uint32_t)(row % size[1]);
        block->id[2] = (uint32_t)(row / size[1]);
    }
    block->done = false;
    block->own.phase = 0;
    block->own.arrived = 0;
    block->next_warp = 0;
    block->live_threads = grid->threads;
    if (block->barriers_used) {
        memset(block->barriers, 0, sizeof block->barriers);
        block->barriers_used = 0;
    }
    if (block->code->uses_reserved) {
        memset(block->shared, 0, block->code->reserved_bytes);
    }
    sg_consts_of_block(block);
    for (uint32_t w = 0; w < block->warp_count; w++) {
        uint32_t left = grid->threads - w * SG_LANES;
        struct sg_warp *warp = sg_block_warp(block, w);
        block_start_warp(warp, left >= SG_LANES ? UINT32_MAX : (1u << left) - 1);
        warp->fast = grid->fast && left >= SG_LANES;
        sg_consts_fill_block(warp, warp->fast);
    }
}

/* Reports a fault of the whole block, with its first remaining thread. */
static void block_report(struct sg_block *block, enum sg_fault_code code, const char *text)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct sg_warp *warp = sg_block_warp(block, w);
        if (warp->group_count) {
            const struct sg_group *group = &warp->groups[0];
            uint32_t pc = group->pc - (group->state == SG_GROUP_AT_BARRIER);
            sg_warp_fault(warp, sg_block_insn(block, pc), (unsigned)__builtin_ctz(group->mask),
                          code, 0, text);
            return;
        }
    }
}

static void look_at_the_clock(struct sg_block *block)
{
    const struct sg_grid *grid = block->grid;
    uint64_t limit_ns = grid->launch->limit_ns;
    uint64_t ran_ns = limit_ns != 0 ? ga_clock_ns() - grid->begun_ns : 0;
    if (ran_ns > limit_ns) {
        char text[96];
        snprintf(text, sizeof text, "has run for %.3f s, the device's limit is %.3f s",
                 (double)ran_ns / (double)GA_NS_PER_S, (double)limit_ns / (double)GA_NS_PER_S);
        block_report(block, SG_FAULT_TIMEOUT, text);
    }
}

/* Lets other processes have the engine; that time does not count towards the limit. All workers
 * stop then, and one of them adds it. */
static void block_give_way(struct sg_grid *grid)
{
    const struct sg_launch *launch = grid->launch;
    if (launch->waiting != NULL &&
        atomic_load_explicit(launch->waiting, memory_order_relaxed) != 0) {
        uint64_t begun_ns = atomic_load(&grid->begun_ns), now_ns = ga_clock_ns();
        launch->give_way(launch->turn);
        uint64_t stood_ns = ga_clock_ns() - now_ns;
        if (stood_ns > GA_NS_PER_MS) {
            (void)atomic_compare_exchange_strong(&grid->begun_ns, &begun_ns, begun_ns + stood_ns);
        }
    }
}

void sg_block_run(struct sg_block *block, uint64_t turns)
{
    uint32_t idle = 0, since_look = LOOK_COST;
    uint64_t left = turns * TURN_COST;
    bool faulted = false;
    while (!block->done) {
        bool look = faulted || since_look >= LOOK_COST;
        if (look) {
            since_look = 0;
            look_at_the_clock(block);
            block_give_way(block->grid);
        }
        if (block->live_threads == 0 || (look && sg_grid_over(block->grid))) {
            block->done = true;
            return;
        }
        if (left < TURN_COST) {
            return;
        }
        struct sg_warp *warp = sg_block_warp(block, block->next_warp);
        idle = sg_warp_run(warp) ? 0 : idle + 1;
        warp = sg_block_warp(block, block->next_warp); /* it may have run with others already */
        const uint32_t cost = warp->fast && idle == 0 ? FAST_TURN_COST : TURN_COST;
        left -= cost;
        since_look += cost;
        faulted = warp->faulted;
        block->next_warp = block->next_warp + 1 == block->warp_count ? 0 : block->next_warp + 1;
        if (idle == block->warp_count && block->live_threads) {
            block_report(block, SG_FAULT_DEADLOCK, "threads of a block wait for each other");
        }
    }
}
