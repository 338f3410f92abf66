/* SPDX-License-Identifier: Apache-2.0 */
/* Making and ending green contexts. */
#include "softgpu/stream/green.h"

#include <assert.h>
#include <stdlib.h>

#include "softgpu/process/print.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/context_events.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/waits.h"

void sg_green_hold(struct sg_green *green)
{
    green->references++;
}

void sg_green_drop(struct sg_green *green)
{
    assert(green->references > 0);
    if (--green->references == 0) {
        sg_all_streams_drop_barriers(&green->stream_barriers);
        free(green);
    }
}

struct sg_green *sg_green_of(CUcontext handle)
{
    struct front_green green;
    return front_green_is(handle) && front_green_find(handle, &green) ? green.host : NULL;
}

struct sg_green *sg_green_current(const struct sg_context *context)
{
    struct front_green front;
    struct sg_green *green = front_green_current(&front) ? front.host : NULL;
    return green != NULL && green->context == context ? green : NULL;
}

CUresult sg_green_make(struct sg_context *context, const struct front_green *front,
                       struct sg_green **green)
{
    struct sg_green *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->context = context;
    made->handle = (CUcontext)(uintptr_t)front->handle;
    made->references = 1;
    ga_list_init(&made->stream_barriers);
    made->sm_count = front->sms;
    CUresult rc = sg_stream_make_in(context, made, CU_STREAM_DEFAULT, 0, &made->legacy);
    if (rc != CUDA_SUCCESS) {
        sg_green_drop(made);
        return rc;
    }
    ga_list_append(&context->greens, &made->in_context);
    *green = made;
    return CUDA_SUCCESS;
}

struct green_point {
    const struct sg_green *green;
    uint64_t sequence;
};

static bool point_passed(const void *argument)
{
    const struct green_point *point = argument;
    ga_list_each (at, following, &point->green->context->streams) {
        const struct sg_stream *stream = ga_container(at, struct sg_stream, in_context);
        if (stream->green == point->green && sg_stream_older(stream, point->sequence + 1)) {
            return false;
        }
    }
    return true;
}

CUresult sg_green_wait(struct sg_green *green)
{
    const struct green_point point = {.green = green, .sequence = sg_process.sequence};
    struct sg_context *context = green->context;
    sg_green_hold(green);
    sg_context_hold(context);
    CUresult rc = sg_wait_for(point_passed, &point);
    sg_print_due(context->print);
    sg_context_drop(context);
    sg_green_drop(green);
    return rc;
}

void sg_green_end(struct sg_green *green)
{
    struct sg_context *context = green->context;
    sg_context_hold(context);
    const struct green_point point = {.green = green, .sequence = sg_process.sequence};
    (void)sg_wait_quiet(point_passed, &point);
    sg_print_due(context->print);
    if (!green->dead) { /* otherwise the end of the context has destroyed the streams */
        green->dead = true;
        ga_list_remove(&green->in_context);
        struct sg_stream *own[2] = {green->legacy, green->gather};
        green->legacy = green->gather = NULL;
        for (unsigned i = 0; i < 2; i++) {
            if (own[i] != NULL) {
                sg_stream_destroy(own[i]);
            }
        }
    }
    sg_green_drop(green);
    sg_context_drop(context);
}

void sg_green_lose(struct sg_context *context)
{
    ga_list_each (at, following, &context->greens) {
        struct sg_green *green = ga_container(at, struct sg_green, in_context);
        ga_list_remove(&green->in_context);
        green->dead = true;
        green->legacy = green->gather = NULL; /* they are destroyed with all streams */
    }
    front_green_lose(sg_context_handle(context));
}

unsigned sg_stream_sms(const struct sg_stream *stream)
{
    return stream->green != NULL ? stream->green->sm_count : sg_context_sms(stream->context);
}

CUcontext sg_stream_context(const struct sg_stream *stream)
{
    return stream->green != NULL ? stream->green->handle : sg_context_handle(stream->context);
}
