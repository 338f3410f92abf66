/* SPDX-License-Identifier: Apache-2.0 */
/* Events of all streams of a context, or of a green context, at once. All functions want the
 * process's lock held. */
#ifndef SOFTGPU_STREAM_CONTEXT_EVENTS_H
#define SOFTGPU_STREAM_CONTEXT_EVENTS_H

#include "softgpu/stream/events.h"
#include "softgpu/stream/streams.h"

struct sg_green;

struct sg_all_streams {
    struct sg_context *context;
    struct sg_green *green; /* NULL: the context and all its green contexts */
};

/* The mark is done when all work is done that the streams have so far. */
CUresult sg_all_streams_record(const struct sg_all_streams *whole, struct sg_mark *mark);

/* All later work of the streams waits for the mark, also in streams that are made later. */
CUresult sg_all_streams_follow(const struct sg_all_streams *whole, struct sg_mark *mark);

/* Makes a new stream wait for the stream barriers. */
CUresult sg_all_streams_follow_gates(struct sg_stream *stream);

/* Called when the context, or the green context, is emptied. */
void sg_all_streams_drop_barriers(struct ga_list *barriers);

#endif
