/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for work: of a stream, a context, the process. All functions want the process's lock held
 * and release it while they wait. */
#ifndef SOFTGPU_STREAM_WAITS_H
#define SOFTGPU_STREAM_WAITS_H

#include "softgpu/stream/events.h"
#include "softgpu/stream/streams.h"

/* What kernels have printed is due when somebody has waited for a stream or a context.
 *
 * Waits, releasing the lock meanwhile, until `passed(argument)`, which is called with the lock
 * held, or until the process is condemned (whose code it returns). */
CUresult sg_wait_for(bool (*passed)(const void *argument), const void *argument);

/* The same before a teardown: the process being condemned is no reason to go on (what runs still
 * runs), but once exit() has begun what runs is told to stop after a second, and false is the
 * answer when it has not a second later. */
bool sg_wait_quiet(bool (*passed)(const void *argument), const void *argument);
CUresult sg_stream_wait(struct sg_stream *stream);
CUresult sg_mark_wait(struct sg_mark *mark);

/* Everything submitted so far, in every context. */
CUresult sg_process_wait(void);

/* As sg_context_quiet, for all contexts. */
bool sg_process_quiet(void);

/* Waits until everything submitted to its streams so far has finished, of green contexts too. */
CUresult sg_context_wait(struct sg_context *context);

/* The same for every context whose work may use this one's memory: itself and its peers. */
CUresult sg_context_wait_users(struct sg_context *context);

/* As sg_context_wait, before something that it may use is freed. False: exit() has begun and the
 * work does not end even when told to stop; free nothing. */
bool sg_context_quiet(struct sg_context *context);
/* Wakes those whose time has come. */
void sg_waits_wake(void);

#endif
