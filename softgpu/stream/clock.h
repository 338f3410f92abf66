/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of devices with a timing model (`timing = yes`): items end when the model says so. No
 * thread waits actively: one thread of the process ends items when they are due.
 *
 * Note: the model's times do not depend on the scheduling of this process. An item begins when it
 * was submitted or when the work it waits for ended *by the model*; events measure exactly that.
 * Lateness is counted, and reported when the process ends.
 *
 * All functions want the process's lock held. */
#ifndef SOFTGPU_STREAM_CLOCK_H
#define SOFTGPU_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/timeline.h"
#include "softgpu/stream/queue.h"

struct sg_stream;

/* Whether the device has a timing model. */
static inline bool sg_clock_runs(const struct sg_device *device)
{
    return device->config.timing;
}

/* Called when the item has run. True: it ends at a later time (sg_engine_end). */
bool sg_clock_takes(struct sg_item *item);
/* The end of the stream's work so far. */
uint64_t sg_clock_of(const struct sg_stream *stream);
/* The next work of the stream begins at `ns` at the earliest. */
void sg_clock_advance(struct sg_stream *stream, uint64_t ns);

/* Waits as long as the model says that making a context takes. Without the lock. */
void sg_clock_make_context(const struct sg_device *device);
/* Logs how late this process's run was. Called at the end of the process; takes the lock. */
void sg_clock_report(void);

#endif
