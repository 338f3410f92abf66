/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one warp. The group that is deepest in calls runs next; of several, the one with the lowest
 * program counter, so that paths meet where they join. A group that has taken SG_SPIN_MAX backward
 * branches lets the other groups, and the other warps, run for a while, because it may wait for
 * them. A warp that has never diverged is run by fast.c. */
#include "softgpu/exec/sched.h"

#include "softgpu/exec/barrier.h"
#include "softgpu/exec/call.h"
#include "softgpu/exec/cluster.h"
#include "softgpu/exec/fast.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/group.h"
#include "softgpu/exec/warp.h"

#define POINTS_MAX 4096 /* scheduling points in one turn, since calls may go on for ever, too */
#define FAIR_MAX   512  /* scheduling points of a group that fairness chose */

static uint32_t depth_of(const struct sg_group *group)
{
    return group->frame != NULL ? group->frame->depth : 0;
}

static bool goes_before(const struct sg_group *a, const struct sg_group *b)
{
    uint32_t da = depth_of(a), db = depth_of(b);
    return da != db ? da > db : a->pc < b->pc;
}

/* The group that fairness chose last; NULL: it is not ready. */
static struct sg_group *fair_group(struct sg_warp *warp)
{
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct sg_group *group = &warp->groups[i];
        if (group->state == SG_GROUP_READY && (group->mask & warp->fair_mask)) {
            return group;
        }
    }
    return NULL;
}

static struct sg_group *pick(struct sg_warp *warp)
{
    struct sg_group *best = warp->fair ? fair_group(warp) : NULL;
    if (best != NULL) {
        return best;
    }
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct sg_group *group = &warp->groups[i];
        if (group->state != SG_GROUP_READY) {
            continue;
        }
        if (best == NULL || goes_before(group, best)) {
            best = group;
        }
    }
    warp->fair = 0;
    return best;
}

/* Chooses the group that ran longest ago. */
static void be_fair(struct sg_warp *warp, const struct sg_group *running)
{
    struct sg_group *oldest = NULL;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct sg_group *group = &warp->groups[i];
        if (group != running && group->state == SG_GROUP_READY &&
            (oldest == NULL || group->last_run < oldest->last_run)) {
            oldest = group;
        }
    }
    warp->fair = 0;
    if (oldest != NULL) {
        warp->fair = FAIR_MAX;
        warp->fair_mask = oldest->mask & -oldest->mask;
        oldest->last_run = ++warp->clock;
    }
}

/* The next place at which this group may meet another one. */
static uint32_t meeting_point(const struct sg_warp *warp, const struct sg_group *group)
{
    uint32_t point = UINT32_MAX;
    for (uint32_t i = 0; i < warp->group_count; i++) {
        const struct sg_group *other = &warp->groups[i];
        if (other != group && other->state == SG_GROUP_READY && other->pc > group->pc &&
            other->pc < point && depth_of(other) == depth_of(group)) {
            point = other->pc;
        }
    }
    return point;
}

static void run_plain(struct sg_warp *warp, const struct sg_insn *in, uint32_t count, uint32_t mask)
{
    if (mask == warp->live) { /* lanes that have exited may hold anything */
        for (const struct sg_insn *end = in + count; in < end; in++) {
            in->full(warp, in, mask);
        }
    } else {
        for (const struct sg_insn *end = in + count; in < end; in++) {
            in->masked(warp, in, mask);
        }
    }
}

/* `taken` lanes of the group jump. False: the group has split. */
static bool branch(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                   uint32_t taken)
{
    if (taken == group->mask) {
        group->pc = (uint32_t)in->imm;
        return true;
    }
    if (taken == 0) {
        group->pc++;
        return true;
    }
    struct sg_group *other = sg_group_split(warp, group, taken);
    other->pc = (uint32_t)in->imm;
    group->pc++;
    return false;
}

static void exit_lanes(struct sg_warp *warp, struct sg_group *group, uint32_t mask)
{
    sg_call_drop_lanes(warp, group, mask);
    group->mask &= ~mask;
    group->pc++;
    if (!group->mask) {
        sg_group_remove(warp, group);
    }
    sg_warp_exit_lanes(warp, mask);
}

/* Splits `mask` lanes off as a group of their own; the others continue after the instruction. */
static struct sg_group *separate(struct sg_warp *warp, struct sg_group *group, uint32_t mask)
{
    if (mask != group->mask) {
        sg_group_split(warp, group, group->mask & ~mask)->pc++;
    }
    return group;
}

/* The lanes of `mask` with the same value as the first one in the 32-bit row at `offset`. */
static uint32_t agreeing(struct sg_warp *warp, uint32_t mask, uint32_t offset)
{
    const uint32_t *row = sg_row(warp, offset);
    uint32_t first = row[__builtin_ctz(mask)], same = 0;
    for (int i = 0; offset && i < SG_LANES; i++) {
        same |= row[i] == first ? 1u << i : 0;
    }
    return offset ? mask & same : mask;
}

/* Lanes that name different barriers, or wait for different lanes, do so one after the other. */
static void wait_together(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                          uint32_t mask)
{
    group = separate(warp, group, mask);
    uint32_t same = in->flags & SG_FLAG_UNIFORM ? mask
                    : in->kind == SG_KIND_BARRIER
                        ? agreeing(warp, agreeing(warp, mask, in->a), in->b)
                        : agreeing(warp, mask, in->e);
    if (same != mask) {
        sg_group_split(warp, group, mask & ~same); /* executed again */
    }
    if (in->kind == SG_KIND_BARRIER) {
        group->pc++;
        sg_barrier_arrive(warp, group, in, same);
    } else if (sg_collective_ready(warp, group, in)) {
        group->pc++;
        if (in->full != NULL) {
            in->masked(warp, in, same);
        }
    }
}

/* barrier.cluster */
static enum sg_stop meet_cluster(struct sg_warp *warp, struct sg_group *group,
                                 const struct sg_insn *in, uint32_t mask)
{
    if (in->kind == SG_KIND_CLUSTER_ARRIVE) {
        sg_cluster_arrive(warp, mask);
        group->pc++;
        return SG_STOP_POINT;
    }
    group = separate(warp, group, mask);
    if (!sg_cluster_passes(warp, mask)) {
        return SG_STOP_TURN; /* other blocks run first; executed again */
    }
    group->pc++;
    return SG_STOP_POINT;
}

bool sg_run_special(struct sg_warp *warp, struct sg_group *group, const struct sg_insn *in,
                    uint32_t mask, enum sg_stop *stop)
{
    switch ((enum sg_insn_kind)in->kind) {
    case SG_KIND_PLAIN:
        if (mask) {
            run_plain(warp, in, 1, mask);
        }
        group->pc++;
        return true;
    case SG_KIND_BRANCH: {
        bool back = in->imm <= (int64_t)group->pc && mask;
        bool whole = branch(warp, group, in, mask);
        if (back && ++warp->spin >= SG_SPIN_MAX) {
            *stop = SG_STOP_TURN;
            return false;
        }
        return whole;
    }
    default:
        break;
    }
    if (!mask) {
        group->pc++;
        return true;
    }
    switch ((enum sg_insn_kind)in->kind) {
    case SG_KIND_EXIT:
        exit_lanes(warp, group, mask);
        break;
    case SG_KIND_CALL:
        sg_call_enter(warp, separate(warp, group, mask), in);
        break;
    case SG_KIND_CALL_POINTER:
        sg_call_enter_pointer(warp, separate(warp, group, mask), in);
        break;
    case SG_KIND_RETURN:
        sg_call_leave(warp, separate(warp, group, mask));
        break;
    case SG_KIND_YIELD:
        group->pc++;
        *stop = SG_STOP_TURN;
        break;
    case SG_KIND_CLUSTER_ARRIVE:
    case SG_KIND_CLUSTER_WAIT:
        *stop = meet_cluster(warp, group, in, mask);
        break;
    case SG_KIND_TRAP:
        sg_warp_fault(warp, in, (unsigned)__builtin_ctz(mask), SG_FAULT_TRAP, 0,
                      "trap instruction");
        break;
    case SG_KIND_LOST:
        sg_warp_fault(warp, in, (unsigned)__builtin_ctz(mask), SG_FAULT_INVALID_PC, 0,
                      "branch to a target that its list does not have");
        break;
    default:
        wait_together(warp, group, in, mask);
        break;
    }
    return false;
}

static enum sg_stop run_group(struct sg_warp *warp, struct sg_group *group)
{
    const struct sg_insn *code = sg_block_insn(warp->block, 0);
    uint32_t limit = meeting_point(warp, group);
    enum sg_stop stop = SG_STOP_POINT;
    warp->sp = group->frame != NULL ? group->frame->sp : 0;
    for (;;) {
        const struct sg_insn *in = code + group->pc;
        uint32_t count = in->run;
        if (count) {
            if (limit - group->pc < count) {
                count = limit - group->pc;
            }
            run_plain(warp, in, count, group->mask);
            group->pc += count;
        } else {
            uint32_t mask = group->mask;
            if (in->guard) {
                uint32_t guard = *(const uint32_t *)sg_row(warp, in->guard);
                mask &= in->guard_negated ? ~guard : guard;
            }
            if (!sg_run_special(warp, group, in, mask, &stop)) {
                return stop;
            }
        }
        if (group->pc >= limit || warp->faulted || warp->fair) {
            return stop;
        }
    }
}

bool sg_warp_run(struct sg_warp *warp)
{
    bool moved = false;
    warp->spin = 0;
    if (warp->fast) {
        moved = sg_fast_run(warp);
        if (warp->fast || warp->faulted) {
            return moved;
        }
    }
    for (uint32_t points = 0; points < POINTS_MAX && !warp->faulted; points++) {
        struct sg_group *group = pick(warp);
        if (group == NULL) {
            break;
        }
        moved = true;
        group->last_run = ++warp->clock;
        bool fair = warp->fair != 0;
        enum sg_stop stop = run_group(warp, group);
        if (warp->fair) {
            warp->fair--;
        }
        /* `group` may be gone or moved: all are checked */
        for (uint32_t i = 0; i < warp->group_count;) {
            i = sg_group_merge(warp, &warp->groups[i]) ? 0 : i + 1;
        }
        /* also a turn without many branches: a loop may have many calls */
        if (stop == SG_STOP_TURN || points == POINTS_MAX - 1) {
            /* Not pick alone: what fairness chose may have used its last point just now. */
            struct sg_group *running = fair ? fair_group(warp) : NULL;
            running = running != NULL ? running : pick(warp);
            if (running != NULL && warp->group_count > 1) {
                be_fair(warp, running);
            }
            break;
        }
    }
    return moved;
}
