/* SPDX-License-Identifier: Apache-2.0 */
/* The trace: when each engine of the devices ran which item, in a file for chrome://tracing and
 * https://ui.perfetto.dev: the JSON Array Format of the "Trace Event Format" document, whose
 * closing bracket may be missing. SOFTGPU_TRACE names the file.
 *
 * Note: the processes of a node write one file together, a line at a time, and may be killed at any
 * point; therefore nothing is buffered, and nobody ends the file. The times of a device with
 * `timing = yes` are the model's, all others this machine's. */
#ifndef SOFTGPU_STREAM_TRACE_H
#define SOFTGPU_STREAM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/stream/queue.h"

extern int sg_trace_fd; /* -1: nothing is traced */

static inline bool sg_trace_runs(void)
{
    return sg_trace_fd >= 0;
}

/* `path` NULL or empty: no trace. A file that cannot be written is reported in the log. With the
 * lock, like the functions below. */
void sg_trace_open(const char *path);
void sg_trace_close(void);
/* The item occupied its engine from `start_ns` to `end_ns` (CLOCK_MONOTONIC). */
void sg_trace_item(const struct sg_item *item, uint64_t start_ns, uint64_t end_ns);

#endif
