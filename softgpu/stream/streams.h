/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as objects: made, held, destroyed. Their order is queue.h's. All functions want the
 * process's lock held. */
#ifndef SOFTGPU_STREAM_STREAMS_H
#define SOFTGPU_STREAM_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "front/front.h"
#include "softgpu/process/context.h"

struct sg_green;

#define SG_PRIORITY_MIN      0
#define SG_PRIORITY_GREATEST (-5)

struct sg_stream {
    struct ga_list in_context;
    struct ga_list in_active; /* process's list of streams with items */
    struct ga_list items;
    struct sg_context *context; /* held */
    struct sg_green *green;     /* held; NULL: not of a green context */
    uint64_t handle;            /* 0: a default stream has none */
    uint64_t thread;            /* the thread whose default stream it is; 0: none */
    uint64_t id;
    uint64_t clock_ns; /* clock.h: when its work so far is over by the timing model */
    unsigned flags;
    struct front_stream_attributes attributes;
    bool blocking;  /* takes part in the legacy stream's order */
    bool destroyed; /* its handle is gone; freed with its last item and reference */
    unsigned references;
};

/* `green` NULL: not in a green context. */
CUresult sg_stream_make_in(struct sg_context *context, struct sg_green *green, unsigned flags,
                           int priority, struct sg_stream **stream);
CUresult sg_stream_make(struct sg_context *context, unsigned flags, int priority,
                        struct sg_stream **stream);
void sg_stream_destroy(struct sg_stream *stream);

/* The per-thread default stream of the calling thread in this context (and green context). */
CUresult sg_stream_of_thread(struct sg_context *context, struct sg_green *green,
                             struct sg_stream **stream);

/* The legacy stream of its context or green context; NULL: it is destroyed. */
struct sg_stream *sg_stream_legacy(const struct sg_stream *stream);
void sg_stream_hold(struct sg_stream *stream);
void sg_stream_drop(struct sg_stream *stream);

#endif
