/* SPDX-License-Identifier: Apache-2.0 */
/* Work on a device whose contexts exclude each other (`context_slice = none`): its end is known
 * when it is placed, and moves only if a process dies whose work is before it. All functions want
 * the process's lock held. */
#ifndef SOFTGPU_STREAM_DEVICE_LEDGER_H
#define SOFTGPU_STREAM_DEVICE_LEDGER_H

#include "softgpu/stream/queue.h"

/* Places the item's work, ready at `ready_ns`. It has a work_id then if it waits for others, and
 * may move; else 0. */
struct model_period sg_ledger_begin(struct sg_item *item, uint64_t context, uint64_t ready_ns);
/* When it runs, as it is known now. False: it has been lost, since a process was killed while it
 * wrote: it is to be placed again. */
bool sg_ledger_foresee(const struct sg_item *item, struct model_period *period);
/* The item has ended. */
void sg_ledger_end(const struct sg_item *item);

#endif
