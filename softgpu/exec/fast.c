/* Runs warps that have not diverged; see fast.h. */
#include "softgpu/exec/fast.h"

#include "softgpu/exec/grid.h"

/* From here on the warp is like any other; its group stands at `pc`. */
static void leave(struct sg_warp *warp, uint32_t pc)
{
    const struct sg_fast *fast = sg_block_code(warp->block)->fast;
    for (uint32_t i = 0; i < fast->row_count; i++) {
        const struct sg_fast_row *row = &fast->rows[i];
        if (row->start <= pc && pc <= row->end) {
            const struct sg_insn expand = {.d = row->row, .a = row->pair, .imm = row->stride};
            (row->wide ? sg_fast_expand64 : sg_fast_expand32)(warp, &expand, UINT32_MAX);
        }
    }
    sg_consts_fill_block(warp, false);
    warp->groups[0].pc = pc;
    warp->fast = false;
}

static void exit_all(struct sg_warp *warp)
{
    warp->group_count = 0;
    sg_warp_exit_lanes(warp, UINT32_MAX);
}

/* These never part lanes that are all here. */
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

/* As special(), for what most often stands there */
static inline const struct sg_insn *branch(struct sg_warp *warp, const struct sg_fast *fast,
                                           const struct sg_insn *in)
{
    const uint32_t mask = guarded_lanes(warp, in);
    if (mask == 0) {
        return in + 1;
    }
    if (mask != UINT32_MAX) {
        leave(warp, fast->pc[in - fast->insns]);
        return NULL;
    }
    const struct sg_insn *target = fast->insns + in->d;
    if (target <= in && ++warp->spin >= SG_SPIN_MAX) {
        warp->groups[0].pc = (uint32_t)in->imm;
        return NULL;
    }
    return target;
}

/* What stands behind a run of plain instructions. The next instruction, or NULL: the turn is over,
 * or the warp is gone or has left. */
static const struct sg_insn *special(struct sg_warp *warp, const struct sg_fast *fast,
                                     const struct sg_insn *in)
{
    struct sg_group *group = &warp->groups[0];
    const uint32_t mask = guarded_lanes(warp, in), pc = fast->pc[in - fast->insns];
    if (mask == 0) {
        return in + 1;
    }
    if (in->kind == SG_KIND_PLAIN) {
        (mask == UINT32_MAX ? in->full : in->masked)(warp, in, mask);
        return warp->faulted ? NULL : in + 1;
    }
    if (mask == UINT32_MAX && in->kind == SG_KIND_EXIT) {
        exit_all(warp);
        return NULL;
    }
    if (mask != UINT32_MAX || !keeps_together(in)) {
        leave(warp, pc);
        return NULL;
    }
    enum sg_stop stop = SG_STOP_POINT;
    group->pc = pc;
    sg_run_special(warp, group, sg_block_insn(warp->block, pc), mask, &stop);
    bool goes_on = stop == SG_STOP_POINT && !warp->faulted && group->state == SG_GROUP_READY;
    return goes_on ? fast->insns + fast->at[group->pc] : NULL;
}

bool sg_fast_run(struct sg_warp *warp)
{
    const struct sg_fast *fast = sg_block_code(warp->block)->fast;
    const struct sg_group *group = &warp->groups[0];
    if (warp->group_count == 0 || group->state != SG_GROUP_READY) {
        return false;
    }
    const struct sg_insn *in = fast->insns + fast->at[group->pc];
    warp->sp = 0;
    while (in) {
        for (warp->fast_end = in + in->run; in < warp->fast_end; in++) {
            in->full(warp, in, UINT32_MAX);
        }
        if (!warp->fast_end) {
            leave(warp, fast->pc[in - 1 - fast->insns]);
            break;
        }
        if (warp->faulted) {
            break;
        }
        in = in->kind == SG_KIND_BRANCH ? branch(warp, fast, in) : special(warp, fast, in);
    }
    return true;
}
