/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, green contexts, events. */
#include <stdlib.h>

#include "server/calls/event_time.h"
#include "server/calls/green.h"
#include "server/meter/meter.h"
#include "server/rebuild/rebuild_state.h"

/* ---- streams */

static const CUstreamAttrID priority_id = (CUstreamAttrID)CU_LAUNCH_ATTRIBUTE_PRIORITY;

static void stream_down(struct rebuild *rebuild, const struct server_stream *stream)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    CUstreamAttrValue priority = {.priority = stream->made_from.priority};
    if (stream->real == NULL) {
        return; /* goes with its green context */
    }
    CUresult rc = driver->cuStreamGetAttribute(stream->real, priority_id, &priority);
    if (!saved_put(&rebuild->streams, &priority, sizeof priority)) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void)rebuild_check(rebuild, rc, "a stream's priority");
    (void)rebuild_check(rebuild, driver->cuStreamDestroy_v2(stream->real), "a stream");
}

static CUresult stream_make(struct rebuild *rebuild, struct server_stream *stream)
{
    const struct made_stream *made = &stream->made_from;
    if (stream->green != NULL) {
        return green_stream_make(rebuild->app, stream->green, made->flags, made->priority,
                                 &stream->real);
    }
    return rebuild->app->driver->cuStreamCreateWithPriority(&stream->real, made->flags,
                                                            made->priority);
}

static void stream_up(struct rebuild *rebuild, struct server_stream *stream)
{
    CUstreamAttrValue priority;
    if (stream->real == NULL) {
        return;
    }
    CUresult rc = saved_take(&rebuild->streams, &priority, sizeof priority)
                      ? stream_make(rebuild, stream)
                      : CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS && priority.priority != stream->made_from.priority) {
        rc = rebuild->app->driver->cuStreamSetAttribute(stream->real, priority_id, &priority);
    }
    (void)rebuild_check(rebuild, rc, "a stream");
}

void rebuild_streams_down(struct rebuild *rebuild, struct server_context *context)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    ga_list_each (at, next, &context->streams) {
        stream_down(rebuild, ga_container(at, struct server_stream, link));
    }
    if (context->heir != NULL) { /* the work that it waits for is done */
        (void)rebuild_check(rebuild, driver->cuStreamDestroy_v2(context->heir), "a stream");
        context->heir = NULL;
    }
    ga_list_each (at, next, &context->greens) {
        const struct server_green *green = ga_container(at, struct server_green, link);
        (void)rebuild_check(rebuild, driver->cuGreenCtxDestroy(green->real), "a green context");
    }
}

void rebuild_streams_up(struct rebuild *rebuild, struct server_context *context)
{
    ga_list_each (at, next, &context->greens) {
        struct server_green *green = ga_container(at, struct server_green, link);
        (void)rebuild_check(rebuild, green_real_make(rebuild->app, green), "a green context");
    }
    ga_list_each (at, next, &context->streams) {
        struct server_stream *stream = ga_container(at, struct server_stream, link);
        stream_up(rebuild, stream);
        if (stream->green != NULL) {
            (void)rebuild->app->driver->cuCtxSetCurrent(context->real);
        }
    }
}

/* ---- events */

void rebuild_events_down(struct rebuild *rebuild, struct server_context *context)
{
    struct server_app *app = rebuild->app;
    meter_context_end(app, context);
    CUresult rc = event_times_keep(app, context);
    (void)rebuild_check(rebuild, rc, "the times of events");
    ga_list_each (at, next, &context->events) {
        const struct server_event *event = ga_container(at, struct server_event, link);
        (void)rebuild_check(rebuild, app->driver->cuEventDestroy_v2(event->ref->real), "an event");
    }
    pthread_mutex_lock(&app->objects.event_lock);
    ga_list_each (at, next, &context->free_events) {
        struct event_ref *ref = ga_container(at, struct event_ref, link);
        ga_list_remove(&ref->link);
        (void)rebuild_check(rebuild, app->driver->cuEventDestroy_v2(ref->real), "an event");
        free(ref);
    }
    pthread_mutex_unlock(&app->objects.event_lock);
}

void rebuild_events_up(struct rebuild *rebuild, struct server_context *context)
{
    struct server_app *app = rebuild->app;
    ga_list_each (at, next, &context->events) {
        const struct server_event *event = ga_container(at, struct server_event, link);
        CUresult rc = app->driver->cuEventCreate(&event->ref->real, event->ref->flags);
        (void)rebuild_check(rebuild, rc, "an event");
    }
    (void)rebuild_check(rebuild, event_times_begin(app, context), "the times of events");
}
