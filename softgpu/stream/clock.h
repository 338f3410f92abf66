/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of devices with a timing model (`timing = yes`): what an engine has run is over when
 * the model says so. Nobody waits for that actively: one thread of the process ends items when
 * their time has come.
 *
 * What a reader would get wrong: the model's times do not depend on when this process gets to run.
 * An item begins when it was submitted or when what it waits for ended *by the model*; events
 * measure exactly that. What is late is counted, and reported when the process ends.
 *
 * All with the process's lock held. */
#ifndef SOFTGPU_STREAM_CLOCK_H
#define SOFTGPU_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/stream/queue.h"

struct sg_stream;

/* Does the device take time? */
static inline bool sg_clock_runs(const struct sg_device *device)
{
    return device->config.timing;
}

/* The item has run. True: it is over at a later time, and is finished then (sg_engine_end). */
bool sg_clock_takes(struct sg_item *item);
/* When what the stream has done so far was over. */
uint64_t sg_clock_of(const struct sg_stream *stream);
/* What the stream does next begins at `ns` at the earliest. */
void sg_clock_advance(struct sg_stream *stream, uint64_t ns);

/* Waits as long as making a context takes. Without the lock. */
void sg_clock_make_context(const struct sg_device *device);
/* How late this process's run was, to the log. When it ends; takes the lock. */
void sg_clock_report(void);

#endif
