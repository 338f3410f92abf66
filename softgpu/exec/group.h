/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of lanes: split, merged, removed. */
#ifndef SOFTGPU_EXEC_GROUP_H
#define SOFTGPU_EXEC_GROUP_H

#include "softgpu/exec/warp.h"

void sg_warp_empty_stacks(struct sg_warp *warp); /* of alloca */
struct sg_group *sg_group_split(struct sg_warp *warp, struct sg_group *group, uint32_t mask);
void sg_group_remove(struct sg_warp *warp, struct sg_group *group);
bool sg_group_merge(struct sg_warp *warp, struct sg_group *group);
void sg_warp_exit_lanes(struct sg_warp *warp, uint32_t mask);

#endif
