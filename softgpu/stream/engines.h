/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of a device: which thread runs the items that are ready. All functions want the
 * process's lock held. */
#ifndef SOFTGPU_STREAM_ENGINES_H
#define SOFTGPU_STREAM_ENGINES_H

#include "softgpu/stream/queue.h"

/* Gives a ready item to its engine and wakes or starts a thread for it. */
void sg_engine_push(struct sg_item *item);

/* Ends an item that is due by the timing model. */
void sg_engine_end(struct sg_item *item);

/* Takes back a pushed item that does not run yet. */
void sg_engine_remove(struct sg_item *item);

/* Runs the ready item in the calling thread if its engine has a free lane; releases the lock
 * meanwhile. False: it has not run. */
bool sg_engine_run_here(struct sg_item *item);

#endif
