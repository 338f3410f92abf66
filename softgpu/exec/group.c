/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of lanes: split, merged, removed. */
#include "softgpu/exec/group.h"

#include "softgpu/exec/barrier.h"
#include "softgpu/exec/warp.h"

void sg_warp_empty_stacks(struct sg_warp *warp)
{
    for (int i = 0; i < SG_LANES; i++) {
        warp->stack_top[i] = warp->local_bytes;
    }
}

/* Moves the lanes of `mask` from `group` into a new group with the same state. There are never more
 * groups than lanes. */
struct sg_group *sg_group_split(struct sg_warp *warp, struct sg_group *group, uint32_t mask)
{
    struct sg_group *other = &warp->groups[warp->group_count++];
    *other = *group;
    other->mask = mask;
    group->mask &= ~mask;
    return other;
}

void sg_group_remove(struct sg_warp *warp, struct sg_group *group)
{
    *group = warp->groups[--warp->group_count];
}

/* Merges `group` with one at the same place. Pointers to groups are invalid after true. */
bool sg_group_merge(struct sg_warp *warp, struct sg_group *group)
{
    for (uint32_t i = 0; i < warp->group_count; i++) {
        struct sg_group *other = &warp->groups[i];
        if (other != group && other->pc == group->pc && other->frame == group->frame &&
            other->state == group->state && group->state == SG_GROUP_READY) {
            other->mask |= group->mask;
            sg_group_remove(warp, group);
            return true;
        }
    }
    return false;
}

/* The lanes have left their group already. */
void sg_warp_exit_lanes(struct sg_warp *warp, uint32_t mask)
{
    warp->live &= ~mask;
    warp->block->live_threads -= mask == UINT32_MAX ? SG_LANES : (uint32_t)__builtin_popcount(mask);
    if (warp->block->barriers_used) {
        sg_barrier_threads_gone(warp->block);
    }
    if (warp->group_count) {
        sg_collective_recheck(warp);
    }
}
