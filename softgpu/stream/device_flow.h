/* SPDX-License-Identifier: Apache-2.0 */
/* Work on a device whose contexts share it by slices of time (`context_slice`): its end moves while
 * other processes begin and end work, so it is asked for again when it is due. All functions want
 * the process's lock held. */
#ifndef SOFTGPU_STREAM_DEVICE_FLOW_H
#define SOFTGPU_STREAM_DEVICE_FLOW_H

#include "softgpu/stream/queue.h"

/* Adds the item's work, ready at `ready_ns`, and sets its work_id and late_ns; returns when it runs
 * if nothing comes besides. Without room the work_id stays 0, and it runs as if it were alone. */
struct model_period sg_flow_begin(struct sg_item *item, uint64_t context, uint64_t ready_ns);
/* When it runs if nothing comes besides; nothing changes if that is not known any more. */
void sg_flow_foresee(const struct sg_item *item, struct model_period *period);
/* The item was due: true: it has ended, in this period. False: it ends at period->end_ns if nothing
 * comes besides. */
bool sg_flow_ended(const struct sg_item *item, struct model_period *period);

#endif
