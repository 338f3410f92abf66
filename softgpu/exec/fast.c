/* SPDX-License-Identifier: Apache-2.0 */
/* Runs undiverged warps: begin and end of the chain of handlers, and the instructions in it that
 * are not plain; see fast.h. */
#include "softgpu/exec/fast.h"

#include "softgpu/exec/barrier.h"
#include "softgpu/exec/const.h"
#include "softgpu/exec/grid.h"
#include "softgpu/exec/group.h"
#include "softgpu/exec/sched.h"

__attribute__((noinline)) void sg_fast_leave(struct sg_warp *warp, const struct sg_insn *in)
{
    const struct sg_fast *fast = sg_block_code(warp->block)->fast;
    const uint32_t pc = fast->pc[in - fast->insns];
    for (uint32_t i = 0; i < fast->row_count; i++) {
        const struct sg_fast_row *row = &fast->rows[i];
        if (row->start <= pc && pc <= row->end) {
            if (row->wide) {
                sg_fast_write64(warp, row->row, row->pair, (uint64_t)row->stride);
            } else {
                sg_fast_write32(warp, row->row, row->pair, (uint32_t)row->stride);
            }
        }
    }
    sg_consts_fill_block(warp, false);
    warp->groups[0].pc = pc;
    warp->fast = false;
}

static inline const struct sg_insn *stands_at(const struct sg_warp *warp)
{
    const struct sg_fast *fast = sg_block_code(warp->block)->fast;
    return fast->insns + fast->at[warp->groups[0].pc];
}

static inline bool may_run(const struct sg_warp *warp)
{
    return warp->fast && warp->group_count != 0 && warp->groups[0].state == SG_GROUP_READY;
}

/* At the end of a warp the next one begins at once, without a return to the block's loop, if
 * possible. */
static inline struct sg_warp *neighbour(struct sg_warp *warp)
{
    struct sg_block *block = warp->block;
    struct sg_warp *next = (struct sg_warp *)(void *)((char *)warp + block->warp_stride);
    if (warp->index + 1 >= block->warp_count || !may_run(next)) {
        return NULL;
    }
    block->next_warp = next->index;
    next->spin = 0;
    next->sp = 0;
    return next;
}

void sg_fast_exit(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    struct sg_block *block = warp->block;
    (void)mask;
    warp->group_count = 0;
    warp->live = 0;
    block->live_threads -= SG_LANES;
    if (block->barriers_used) {
        sg_barrier_threads_gone(block);
    }
    warp = neighbour(warp);
    if (warp == NULL) {
        return;
    }
    in = stands_at(warp);
    SG_FAST_GO(warp, in);
}

/* These instructions never part lanes that are all here. */
static bool keeps_together(const struct sg_insn *in)
{
    return in->kind == SG_KIND_YIELD || in->kind == SG_KIND_TRAP || in->kind == SG_KIND_LOST ||
           in->kind == SG_KIND_CLUSTER_ARRIVE || in->kind == SG_KIND_CLUSTER_WAIT ||
           ((in->kind == SG_KIND_BARRIER || in->kind == SG_KIND_COLLECTIVE) &&
            (in->flags & SG_FLAG_UNIFORM));
}

static inline uint32_t guarded_lanes(struct sg_warp *warp, const struct sg_insn *in)
{
    if (!in->guard) {
        return UINT32_MAX;
    }
    uint32_t guard = *(const uint32_t *)sg_row(warp, in->guard);
    return in->guard_negated ? ~guard : guard;
}

void sg_fast_jump(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    (void)mask;
    SG_FAST_JUMP(warp, in);
}

void sg_fast_branch(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    mask = *(const uint32_t *)sg_row(warp, in->guard) ^ in->c;
    if (mask == UINT32_MAX) {
        SG_FAST_TO(sg_fast_jump, warp, in);
        return;
    }
    if (mask != 0) {
        sg_fast_leave(warp, in);
        return;
    }
    SG_FAST_GO(warp, in + 1);
}

void sg_fast_step(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    in[1].full(warp, in + 1, mask);
    if (warp->faulted) {
        return;
    }
    SG_FAST_GO(warp, in + 2);
}

void sg_fast_guarded(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    mask = guarded_lanes(warp, in + 1);
    if (mask) {
        (mask == UINT32_MAX ? in[1].full : in[1].masked)(warp, in + 1, mask);
        if (warp->faulted) {
            return;
        }
    }
    SG_FAST_GO(warp, in + 2);
}

/* The next instruction; NULL: the turn is over, or the warp has ended or diverged. */
static __attribute__((noinline)) const struct sg_insn *special(struct sg_warp *warp,
                                                               const struct sg_insn *in)
{
    const struct sg_fast *fast = sg_block_code(warp->block)->fast;
    struct sg_group *group = &warp->groups[0];
    const uint32_t mask = guarded_lanes(warp, in), pc = fast->pc[in - fast->insns];
    if (mask == 0) {
        return in + 1;
    }
    if (mask == UINT32_MAX && in->kind == SG_KIND_EXIT) {
        warp->group_count = 0;
        sg_warp_exit_lanes(warp, mask);
        return NULL;
    }
    if (mask != UINT32_MAX || !keeps_together(in)) {
        sg_fast_leave(warp, in);
        return NULL;
    }
    enum sg_stop stop = SG_STOP_POINT;
    group->pc = pc;
    sg_run_special(warp, group, sg_block_insn(warp->block, pc), mask, &stop);
    bool goes_on = stop == SG_STOP_POINT && !warp->faulted && group->state == SG_GROUP_READY;
    return goes_on ? fast->insns + fast->at[group->pc] : NULL;
}

void sg_fast_special(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    (void)mask;
    in = special(warp, in);
    if (in == NULL) {
        return;
    }
    SG_FAST_GO(warp, in);
}

bool sg_fast_run(struct sg_warp *warp)
{
    if (!may_run(warp)) {
        return false;
    }
    const struct sg_insn *in = stands_at(warp);
    warp->sp = 0;
    in->full(warp, in, UINT32_MAX);
    return true;
}
