/* SPDX-License-Identifier: Apache-2.0 */
/* Events that processes share (cuIpcGetEventHandle). All functions want the process's lock held. */
#ifndef SOFTGPU_STREAM_SHARED_EVENTS_H
#define SOFTGPU_STREAM_SHARED_EVENTS_H

#include "softgpu/memory/ipc.h"
#include "softgpu/stream/events.h"

/* How other processes open the event, made with CU_EVENT_INTERPROCESS: by a handle, or by a
 * descriptor that the caller owns. CUDA_ERROR_INVALID_HANDLE: it was made otherwise.
 * CUDA_ERROR_OUT_OF_MEMORY: there are too many. */
CUresult sg_event_share(struct sg_event *event, struct sg_ipc_handle *handle);
CUresult sg_event_share_file(struct sg_event *event, int *fd);

/* An event of another process; the descriptor stays the caller's. CUDA_ERROR_INVALID_HANDLE: there
 * is none (any more); CUDA_ERROR_INVALID_CONTEXT: this process exports it;
 * CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_event_open(struct sg_context *context, const struct sg_ipc_handle *handle,
                       struct sg_event **event);
CUresult sg_event_open_file(struct sg_context *context, int fd, struct sg_event **event);

/* Ends the sharing of an event that is about to be destroyed. */
void sg_event_unshare(struct sg_event *event);

/* Replaces the event's mark if another process has recorded it since. */
void sg_event_refresh(struct sg_event *event);

/* Makes the mark a new recording for other processes, if they share the event. */
void sg_mark_number(struct sg_mark *mark, const struct sg_event *event);
void sg_mark_set_done(struct sg_mark *mark);
bool sg_mark_done(struct sg_mark *mark);

/* As sg_mark_done, for an item that waits: the mark is polled again soon. */
bool sg_mark_passed(struct sg_mark *mark);

#endif
