/* SPDX-License-Identifier: Apache-2.0 */
/* Events of all streams of a context, or of a green context, at once. All functions want the
 * process's lock held. */
#ifndef SOFTGPU_STREAM_CONTEXT_EVENTS_H
#define SOFTGPU_STREAM_CONTEXT_EVENTS_H

#include "softgpu/stream/events.h"
#include "softgpu/stream/streams.h"

struct sg_green;

struct sg_whole {
    struct sg_context *context;
    struct sg_green *green; /* NULL: the context and all its green contexts */
};

/* The mark is done when all that the streams were given so far is. */
CUresult sg_whole_record(const struct sg_whole *whole, struct sg_mark *mark);

/* What the streams are given from now on waits for the mark, in streams that are made later as
 * well. */
CUresult sg_whole_follow(const struct sg_whole *whole, struct sg_mark *mark);

/* The stream is new. */
CUresult sg_whole_follow_gates(struct sg_stream *stream);

/* The context, or the green context, is emptied. */
void sg_whole_drop_gates(struct ga_list *gates);

#endif
