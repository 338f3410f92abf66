/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for work: of a stream, a context, the process. All functions want the process's lock held
 * and release it while they wait. */
#ifndef SOFTGPU_STREAM_WAITS_H
#define SOFTGPU_STREAM_WAITS_H

#include "softgpu/stream/events.h"
#include "softgpu/stream/streams.h"

/* Waits until `passed(argument)`, which is called with the lock held, or until the process is
 * condemned, whose code it returns. Afterwards kernel output is due. */
CUresult sg_wait_for(bool (*passed)(const void *argument), const void *argument);

/* As sg_wait_for, before a teardown. The wait goes on in a condemned process, since running work
 * still runs. Once exit() has begun, running work is told to stop after a second; the answer is
 * false if it has not stopped a second later. */
bool sg_wait_quiet(bool (*passed)(const void *argument), const void *argument);
CUresult sg_stream_wait(struct sg_stream *stream);
CUresult sg_mark_wait(struct sg_mark *mark);

/* Waits for all work submitted so far, in every context. */
CUresult sg_process_wait(void);

/* As sg_context_quiet, for all contexts. */
bool sg_process_quiet(void);

/* Waits for all work submitted so far to the streams of the context and of its green contexts. */
CUresult sg_context_wait(struct sg_context *context);

/* As sg_context_wait, for every context whose work may use this context's memory: itself and its
 * peers. */
CUresult sg_context_wait_users(struct sg_context *context);

/* Waits as sg_context_wait does, before memory that the work may use is freed. False: exit() has
 * begun and the work does not stop; nothing may be freed. */
bool sg_context_quiet(struct sg_context *context);
/* Wakes the waiters whose wait is over. */
void sg_waits_wake(void);

#endif
