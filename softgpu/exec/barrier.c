/* SPDX-License-Identifier: Apache-2.0 */
/* bar and barrier, and waits for lanes of one warp. Barriers count threads (PTX ISA, "barrier":
 * since sm_70 each thread arrives for itself), so a barrier in divergent code is complete when all
 * its threads have arrived, in any order and from anywhere. */
#include "softgpu/exec/barrier.h"

#include "softgpu/exec/fault.h"
#include "softgpu/exec/group.h"
#include "softgpu/exec/warp.h"

static void deliver(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                    const struct sg_barrier *barrier)
{
    uint32_t *row = sg_row(warp, in->d);
    if (in->mode == SG_BARRIER_POPC) {
        for (int i = 0; i < SG_LANES; i++) {
            row[i] = group->mask >> i & 1 ? barrier->popc : row[i];
        }
    } else if (in->mode == SG_BARRIER_AND || in->mode == SG_BARRIER_OR) {
        bool value =
            in->mode == SG_BARRIER_AND ? barrier->popc == barrier->reduced : barrier->popc != 0;
        *row = value ? *row | group->mask : *row & ~group->mask;
    }
}

static void barrier_release(struct sg_block *block, uint32_t number)
{
    struct sg_barrier *barrier = &block->barriers[number];
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct sg_warp *warp = sg_block_warp(block, w);
        for (uint32_t g = 0; g < warp->group_count; g++) {
            struct sg_group *group = &warp->groups[g];
            if (group->state == SG_GROUP_AT_BARRIER && group->barrier == number) {
                if (barrier->reduced) {
                    deliver(warp, group, sg_block_insn(block, group->pc - 1), barrier);
                }
                group->state = SG_GROUP_READY;
            }
        }
        for (uint32_t g = 0; warp->group_count > 1 && g < warp->group_count;) {
            g = sg_group_merge(warp, &warp->groups[g]) ? 0 : g + 1;
        }
    }
    *barrier = (struct sg_barrier){0, 0, 0, 0};
    block->barriers_used &= ~(1u << number);
}

static bool barrier_complete(const struct sg_block *block, const struct sg_barrier *barrier)
{
    uint32_t expected = barrier->expected ? barrier->expected : block->live_threads;
    return barrier->arrived && barrier->arrived >= expected;
}

void sg_barrier_threads_gone(struct sg_block *block)
{
    for (uint32_t i = 0; block->barriers_used >> i; i++) {
        if (block->barriers[i].arrived && !block->barriers[i].expected &&
            barrier_complete(block, &block->barriers[i])) {
            barrier_release(block, i);
        }
    }
}

/* `mask`: the lanes of `group` that take part; all have the same number and count (the caller has
 * split them). The group's program counter is after the barrier. */
bool sg_barrier_arrive(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                       uint32_t mask)
{
    unsigned lane = (unsigned)__builtin_ctz(mask);
    uint32_t number = ((const uint32_t *)sg_row(warp, in->a))[lane];
    uint32_t count = in->b ? ((const uint32_t *)sg_row(warp, in->b))[lane] : 0;
    if (number >= SG_BARRIERS || (in->b && (count == 0 || count % SG_LANES))) {
        sg_warp_fault(warp, in, lane, SG_FAULT_TRAP, 0,
                      "barrier number above 15 or thread count not a multiple of the warp size");
        return false;
    }
    struct sg_barrier *barrier = &warp->block->barriers[number];
    warp->block->barriers_used |= 1u << number;
    /* .aligned counts warps: the last one of a block may have fewer threads. */
    bool whole = in->b && (in->flags & SG_FLAG_ALIGNED) && mask == warp->live;
    barrier->arrived += whole || mask == UINT32_MAX ? SG_LANES : (uint32_t)__builtin_popcount(mask);
    barrier->expected = count;
    if (in->mode >= SG_BARRIER_POPC) {
        uint32_t votes = *(const uint32_t *)sg_row(warp, in->c) ^ (in->imm ? UINT32_MAX : 0);
        barrier->popc += (uint32_t)__builtin_popcount(votes & mask);
        barrier->reduced += (uint32_t)__builtin_popcount(mask);
    }
    if (in->mode != SG_BARRIER_ARRIVE) {
        group->state = SG_GROUP_AT_BARRIER;
        group->barrier = number;
    }
    if (barrier_complete(warp->block, barrier)) {
        barrier_release(warp->block, number);
    }
    return true;
}

static bool is_warp_barrier(const struct sg_insn *in)
{
    return in->full == NULL;
}

/* The lanes that wait for the same lanes, at this instruction or, for bar.warp.sync, at any. */
static uint32_t gathered(const struct sg_warp *warp, const struct sg_group *group,
                         const struct sg_insn *in)
{
    uint32_t lanes = group->mask;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        const struct sg_group *other = &warp->groups[i];
        if (other != group && other->state == SG_GROUP_AT_COLLECTIVE &&
            other->wait_mask == group->wait_mask &&
            (other->pc == group->pc ||
             (is_warp_barrier(in) && is_warp_barrier(sg_block_insn(warp->block, other->pc))))) {
            lanes |= other->mask;
        }
    }
    return lanes;
}

bool sg_collective_ready(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in)
{
    unsigned lane = (unsigned)__builtin_ctz(group->mask);
    uint32_t named = in->e ? ((const uint32_t *)sg_row(warp, in->e))[lane] : 0;
    if ((named & warp->live & ~group->mask) == 0) {
        return true;
    }
    group->wait_mask = named;
    group->state = SG_GROUP_AT_COLLECTIVE;
    sg_collective_recheck(warp);
    return false;
}

/* Groups at one instruction in different calls of its function cannot merge: the instruction is
 * executed for all of them here. */
static bool done_in_calls(struct sg_warp *warp, const struct sg_group *group,
                          const struct sg_insn *in)
{
    const uint32_t pc = group->pc, named = group->wait_mask;
    uint32_t lanes = 0;
    bool apart = false;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        const struct sg_group *other = &warp->groups[i];
        if (other->state == SG_GROUP_AT_COLLECTIVE && other->wait_mask == named &&
            other->pc == pc) {
            lanes |= other->mask;
            apart |= other->frame != group->frame;
        }
    }
    if (!apart) {
        return false;
    }
    in->masked(warp, in, lanes);
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct sg_group *other = &warp->groups[i];
        if (other->mask & lanes) {
            other->state = SG_GROUP_READY;
            other->pc++;
        }
    }
    return true;
}

/* Releases every waiting group whose lanes have all arrived (or exited). Groups at one instruction
 * merge into one, which then contains all named lanes; bar.warp.sync is simply passed. */
void sg_collective_recheck(struct sg_warp *warp)
{
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct sg_group *group = &warp->groups[i];
        if (group->state != SG_GROUP_AT_COLLECTIVE) {
            continue;
        }
        const struct sg_insn *in = sg_block_insn(warp->block, group->pc);
        uint32_t named = group->wait_mask;
        if (named & warp->live & ~gathered(warp, group, in)) {
            continue;
        }
        bool barrier = is_warp_barrier(in);
        if (!barrier && done_in_calls(warp, group, in)) {
            i = UINT32_MAX;
            continue;
        }
        uint32_t pc = group->pc;
        for (uint32_t k = 0; k < warp->group_count; k++) {
            struct sg_group *other = &warp->groups[k];
            if (other->state != SG_GROUP_AT_COLLECTIVE || other->wait_mask != named) {
                continue;
            }
            if (barrier && is_warp_barrier(sg_block_insn(warp->block, other->pc))) {
                other->state = SG_GROUP_READY;
                other->pc++;
            } else if (!barrier && other->pc == pc) {
                other->state = SG_GROUP_READY;
            }
        }
        for (uint32_t k = 0; k < warp->group_count;) {
            k = sg_group_merge(warp, &warp->groups[k]) ? 0 : k + 1;
        }
        i = UINT32_MAX; /* groups have moved: starts again */
    }
}
