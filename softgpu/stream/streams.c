/* SPDX-License-Identifier: Apache-2.0 */
/* Making and destroying streams; their order is queue.c's. */
#include "softgpu/stream/streams.h"

#include <assert.h>
#include <stdlib.h>

#include "softgpu/process/process.h"
#include "softgpu/stream/context_events.h"
#include "softgpu/stream/green.h"

static _Atomic uint64_t next_thread;
static _Thread_local uint64_t this_thread; /* unique among all threads */

static uint64_t thread_number(void)
{
    if (this_thread == 0) {
        this_thread = atomic_fetch_add(&next_thread, 1) + 1;
    }
    return this_thread;
}

CUresult sg_stream_make_in(struct sg_context *context, struct sg_green *green, unsigned flags,
                           int priority, struct sg_stream **stream)
{
    struct sg_stream *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->context = context;
    made->flags = flags;
    made->attributes = front_stream_attributes_new;
    CUstreamAttrValue wanted = {.priority = priority};
    (void)front_stream_attribute_set(&made->attributes, CU_LAUNCH_ATTRIBUTE_PRIORITY, &wanted,
                                     SG_PRIORITY_MIN, SG_PRIORITY_GREATEST);
    made->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
    made->references = 1;
    made->id = ++sg_process.next_stream_id;
    ga_list_init(&made->items);
    ga_list_init(&made->in_active);
    ga_list_append(&context->streams, &made->in_context);
    sg_context_hold(context);
    made->green = green;
    if (green != NULL) {
        sg_green_hold(green);
    }
    CUresult rc = sg_all_streams_follow_gates(made);
    if (rc != CUDA_SUCCESS) {
        sg_stream_destroy(made);
        return rc;
    }
    *stream = made;
    return CUDA_SUCCESS;
}

CUresult sg_stream_make(struct sg_context *context, unsigned flags, int priority,
                        struct sg_stream **stream)
{
    return sg_stream_make_in(context, NULL, flags, priority, stream);
}

struct sg_stream *sg_stream_legacy(const struct sg_stream *stream)
{
    return stream->green != NULL ? stream->green->legacy : stream->context->legacy;
}

void sg_stream_hold(struct sg_stream *stream)
{
    stream->references++;
}

void sg_stream_drop(struct sg_stream *stream)
{
    assert(stream->references > 0);
    if (--stream->references != 0) {
        return;
    }
    ga_list_remove(&stream->in_context);
    if (stream->green != NULL) {
        sg_green_drop(stream->green);
    }
    sg_context_drop(stream->context);
    free(stream);
}

void sg_stream_destroy(struct sg_stream *stream)
{
    if (stream->handle != 0) {
        ga_handle_table_remove(&sg_process.streams, stream->handle);
    }
    stream->destroyed = true;
    sg_stream_drop(stream);
}

CUresult sg_stream_of_thread(struct sg_context *context, struct sg_green *green,
                             struct sg_stream **stream)
{
    uint64_t thread = thread_number();
    ga_list_each (at, following, &context->streams) {
        struct sg_stream *found = ga_container(at, struct sg_stream, in_context);
        if (found->thread == thread && found->green == green && !found->destroyed) {
            *stream = found;
            return CUDA_SUCCESS;
        }
    }
    CUresult rc = sg_stream_make_in(context, green, CU_STREAM_DEFAULT, 0, stream);
    if (rc == CUDA_SUCCESS) {
        (*stream)->thread = thread;
    }
    return rc;
}
