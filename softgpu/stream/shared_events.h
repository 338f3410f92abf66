/* SPDX-License-Identifier: Apache-2.0 */
/* Events that processes share (cuIpcGetEventHandle). All functions want the process's lock held. */
#ifndef SOFTGPU_STREAM_SHARED_EVENTS_H
#define SOFTGPU_STREAM_SHARED_EVENTS_H

#include "softgpu/stream/events.h"

/* CUDA_ERROR_OUT_OF_MEMORY: the node has too many. */
CUresult sg_event_share(struct sg_event *event);

/* Ends the sharing of an event that is about to be destroyed. */
void sg_event_unshare(struct sg_event *event);

/* Replaces the event's mark if another process has recorded it since. */
void sg_event_refresh(struct sg_event *event);

/* Gives the mark the number of a new recording. */
void sg_mark_number(struct sg_mark *mark, const struct sg_event *event);
void sg_mark_set_done(struct sg_mark *mark);
bool sg_mark_done(struct sg_mark *mark);

/* The same for an item that waits: the mark is polled again soon. */
bool sg_mark_passed(struct sg_mark *mark);

#endif
