/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a whole context or green context: recording the work of all its streams, and making all
 * of them wait. One stream of the context gathers the marks of the others.
 *
 * Note: streams that are made later wait as well, so the marks are kept, as stream barriers, until
 * they are done. */
#include "softgpu/stream/context_events.h"

#include <stdlib.h>

#include "softgpu/stream/green.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/shared_events.h"

struct stream_barrier {
    struct ga_list in_context;
    struct sg_mark *mark;
};

static void barrier_drop(struct stream_barrier *barrier)
{
    ga_list_remove(&barrier->in_context);
    sg_mark_drop(barrier->mark);
    free(barrier);
}

static struct sg_stream **gather_of(const struct sg_all_streams *whole)
{
    return whole->green != NULL ? &whole->green->gather : &whole->context->gather;
}

static struct ga_list *barriers_of(const struct sg_all_streams *whole)
{
    return whole->green != NULL ? &whole->green->stream_barriers : &whole->context->stream_barriers;
}

static CUresult gather_make(const struct sg_all_streams *whole)
{
    struct sg_stream **gather = gather_of(whole);
    return *gather != NULL
               ? CUDA_SUCCESS
               : sg_stream_make_in(whole->context, whole->green, CU_STREAM_NON_BLOCKING, 0, gather);
}

static bool whole_has(const struct sg_stream *stream, const struct sg_all_streams *whole)
{
    return (whole->green == NULL || stream->green == whole->green) && stream != *gather_of(whole);
}

/* All streams but the gathering one, each held, since submitting to one stream may end others.
 * NULL: no memory. */
static struct sg_stream **streams_hold(const struct sg_all_streams *whole, size_t *count)
{
    size_t room = 1;
    ga_list_each (at, following, &whole->context->streams) {
        room++;
    }
    struct sg_stream **held = calloc(room, sizeof(struct sg_stream *));
    *count = 0;
    ga_list_each (at, following, &whole->context->streams) {
        struct sg_stream *stream = ga_container(at, struct sg_stream, in_context);
        if (held != NULL && whole_has(stream, whole)) {
            sg_stream_hold(stream);
            held[(*count)++] = stream;
        }
    }
    return held;
}

static void streams_drop(struct sg_stream **held, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sg_stream_drop(held[i]);
    }
    free(held);
}

/* Makes the gathering stream wait for all work of this one. */
static CUresult gather_one(struct sg_stream *gather, struct sg_stream *stream)
{
    if (ga_list_empty(&stream->items)) {
        return CUDA_SUCCESS;
    }
    struct sg_mark *mark = sg_stream_mark(stream);
    if (mark == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = sg_stream_follow(gather, mark);
    sg_mark_drop(mark);
    return rc;
}

CUresult sg_all_streams_record(const struct sg_all_streams *whole, struct sg_mark *mark)
{
    size_t count;
    CUresult rc = gather_make(whole);
    struct sg_stream **held = rc == CUDA_SUCCESS ? streams_hold(whole, &count) : NULL;
    if (held == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        rc = gather_one(*gather_of(whole), held[i]);
    }
    streams_drop(held, count);
    return rc == CUDA_SUCCESS ? sg_submit_record(*gather_of(whole), mark) : rc;
}

CUresult sg_all_streams_follow(const struct sg_all_streams *whole, struct sg_mark *mark)
{
    size_t count;
    if (sg_mark_done(mark)) {
        return CUDA_SUCCESS;
    }
    struct stream_barrier *barrier = malloc(sizeof *barrier);
    struct sg_stream **held = barrier != NULL ? streams_hold(whole, &count) : NULL;
    if (held == NULL) {
        free(barrier);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    barrier->mark = mark;
    sg_mark_hold(mark);
    ga_list_append(barriers_of(whole), &barrier->in_context);
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        rc = held[i]->destroyed ? CUDA_SUCCESS : sg_stream_follow(held[i], mark);
    }
    streams_drop(held, count);
    return rc;
}

static CUresult follow_barriers(struct sg_stream *stream, struct ga_list *barriers)
{
    CUresult rc = CUDA_SUCCESS;
    ga_list_each (at, following, barriers) {
        struct stream_barrier *barrier = ga_container(at, struct stream_barrier, in_context);
        if (sg_mark_done(barrier->mark)) {
            barrier_drop(barrier);
        } else if (rc == CUDA_SUCCESS) {
            rc = sg_stream_follow(stream, barrier->mark);
        }
    }
    return rc;
}

CUresult sg_all_streams_follow_gates(struct sg_stream *stream)
{
    CUresult rc = follow_barriers(stream, &stream->context->stream_barriers);
    return rc == CUDA_SUCCESS && stream->green != NULL
               ? follow_barriers(stream, &stream->green->stream_barriers)
               : rc;
}

void sg_all_streams_drop_barriers(struct ga_list *barriers)
{
    while (!ga_list_empty(barriers)) {
        barrier_drop(ga_container(barriers->next, struct stream_barrier, in_context));
    }
}
