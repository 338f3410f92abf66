/* SPDX-License-Identifier: Apache-2.0 */
/* Events, and asking or waiting for events and streams. */
#include "server/calls/event.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/current_context.h"
#include "server/app/kernel_output.h"
#include "server/calls/ipc.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/objects/driver_events.h"
#include "server/objects/handles.h"

static struct server_event *event_find(struct server_app *app, uint64_t wire)
{
    return ga_handle_table_find(&app->objects.events, wire);
}

/* An event of the current context under the client's handle. Takes `ref`. */
static CUresult event_put(struct server_app *app, uint64_t wire, struct event_ref *ref)
{
    struct server_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        event_drop(app, ref);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *event = (struct server_event){.context = app->current,
                                   .handle = wire,
                                   .flags = ref->flags,
                                   .shared = (ref->flags & CU_EVENT_INTERPROCESS) != 0,
                                   .ref = ref};
    enum ga_status status = ga_handle_table_take(&app->objects.events, wire, event);
    if (status != GA_OK) {
        event_drop(app, event->ref);
        free(event);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_append(&app->current->events, &event->link);
    return CUDA_SUCCESS;
}

static CUresult event_make(struct server_app *app, uint64_t wire, unsigned flags)
{
    struct event_ref *ref;
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    /* A thread that waits blocks on the client, so the flag has no meaning here. */
    flags &= ~(unsigned)CU_EVENT_BLOCKING_SYNC;
    CU_TRY(event_new(app, app->current, flags, &ref));
    return event_put(app, wire, ref);
}

CUresult event_adopt(struct server_app *app, uint64_t wire, CUevent real)
{
    const unsigned flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    struct event_ref *ref;
    CU_TRY(event_own(app, app->current, flags, real, &ref));
    return event_put(app, wire, ref);
}

CUresult server_do_cuEventCreate(struct server_app *app, const struct cuEventCreate_args *args)
{
    return event_make(app, args->phEvent, args->Flags);
}

CUresult event_free(struct server_app *app, struct server_event *event)
{
    if (event->exported != 0) {
        ipc_withdraw(app, event->exported, event->handle, 1);
    }
    (void)ga_handle_table_remove(&app->objects.events, event->handle);
    ga_list_remove(&event->link);
    event_drop(app, event->ref);
    free(event);
    return CUDA_SUCCESS;
}

CUresult server_do_cuEventDestroy_v2(struct server_app *app,
                                     const struct cuEventDestroy_v2_args *args)
{
    struct server_event *event = event_find(app, args->hEvent);
    return event != NULL ? event_free(app, event) : CUDA_ERROR_INVALID_HANDLE;
}

/* Where an event is recorded. */
struct recording {
    CUcontext context; /* NULL: in the stream */
    CUgreenCtx green;  /* likewise */
    CUstream stream;
    unsigned flags;
};

static CUresult record_now(const struct cuda_driver *driver, CUevent event,
                           const struct recording *at)
{
#if CUDA_VERSION >= 12040
    if (at->green != NULL) {
        return driver->cuGreenCtxRecordEvent(at->green, event);
    }
#endif
#if CUDA_VERSION >= 12050
    if (at->context != NULL) {
        return driver->cuCtxRecordEvent(at->context, event);
    }
#endif
    return at->flags == 0 ? driver->cuEventRecord(event, at->stream)
                          : driver->cuEventRecordWithFlags(event, at->stream, at->flags);
}

/* An event that a stream still waits for must not change under it: a new record gets a new event of
 * the driver. A shared event has only this one, and a waiting stream has another: see
 * shared_mark. */
static CUresult event_record_at(struct server_app *app, struct server_event *event,
                                const struct recording *at)
{
    CUresult rc = CUDA_SUCCESS;
    pthread_mutex_lock(&app->objects.event_lock);
    bool watched = event->ref->refs > 1 && !event->shared;
    pthread_mutex_unlock(&app->objects.event_lock);
    struct event_ref *ref = event->ref;
    if (watched) {
        rc = event_take(app, event->context, event->flags, &ref);
    }
    if (rc == CUDA_SUCCESS) {
        rc = record_now(app->driver, ref->real, at);
    }
    if (watched && rc == CUDA_SUCCESS) {
        event_drop(app, event->ref);
        event->ref = ref;
    } else if (watched && ref != event->ref) {
        event_drop(app, ref);
    }
    event->kept_ns = rc == CUDA_SUCCESS ? 0 : event->kept_ns;
    return rc;
}

static CUresult event_record(struct server_app *app, uint64_t wire, uint64_t stream_wire,
                             unsigned flags)
{
    struct server_event *event = event_find(app, wire);
    struct recording at = {.flags = flags};
    CUresult rc = server_handle_stream(app, stream_wire, &at.stream);
    return event == NULL || rc != CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE
                                               : event_record_at(app, event, &at);
}

CUresult server_do_ga_green_record(struct server_app *app, const struct ga_green_record_args *args)
{
    const struct server_green *green = ga_handle_table_find(&app->objects.greens, args->green);
    struct server_event *event = event_find(app, args->event);
    if (green == NULL || event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const struct recording at = {.green = green->real};
    return event_record_at(app, event, &at);
}

#if CUDA_VERSION >= 12050
CUresult server_do_cuCtxRecordEvent(struct server_app *app,
                                    const struct cuCtxRecordEvent_args *args)
{
    struct server_event *event = event_find(app, args->hEvent);
    struct recording at = {0};
    CU_TRY(server_handle_context(app, args->hCtx, &at.context));
    return event == NULL || at.context == NULL ? CUDA_ERROR_INVALID_HANDLE
                                               : event_record_at(app, event, &at);
}
#endif

CUresult server_do_cuEventRecord(struct server_app *app, const struct cuEventRecord_args *args)
{
    return event_record(app, args->hEvent, args->hStream, 0);
}

CUresult server_do_cuEventRecordWithFlags(struct server_app *app,
                                          const struct cuEventRecordWithFlags_args *args)
{
    return event_record(app, args->hEvent, args->hStream, args->flags);
}

/* NULL: none. */
static const struct server_context *stream_context(struct server_app *app, uint64_t wire)
{
    const struct server_stream *stream = ga_handle_table_find(&app->objects.streams, wire);
    return stream != NULL ? stream->context : app->current;
}

/* The answer to a query, for the handler to return. A good one is told in its turn, after what has
 * finished before; NOT_READY at once. */
static CUresult query_answer(struct server_app *app, CUresult rc, struct event_ref *watch,
                             uint64_t lane)
{
    const struct wire_header *header = app->call.header;
    if (rc != CUDA_ERROR_NOT_READY) {
        return rc;
    }
    struct send_queue_frame *frame = send_queue_frame_make(&conn_of(app)->frames, 16, WIRE_REPLY,
                                                           header->session, header->sequence);
    struct completer_entry *entry = watch != NULL ? server_entry_make(app, COMPLETER_DONE) : NULL;
    if (frame == NULL || (watch != NULL && entry == NULL)) {
        server_fail(app, "no memory for a reply");
        return SERVER_ANSWERED;
    }
    ga_write_i32(&frame->writer, (int32_t)rc);
    ga_write_u32(&frame->writer, 0);
    send_queue_append(&conn_of(app)->out, frame);
    if (entry != NULL) {
        entry->event = watch;
        entry->base.lane = lane;
        completer_add(&conn_of(app)->completer, entry);
    }
    return SERVER_ANSWERED;
}

CUresult server_do_ga_event_query(struct server_app *app, const struct ga_event_query_args *args)
{
    struct server_event *event = event_find(app, args->event);
    CUresult rc = CUDA_ERROR_INVALID_HANDLE;
    struct event_ref *watch = NULL;
    if (event != NULL) {
        rc = app->driver->cuEventQuery(event->ref->real);
    }
    if (rc == CUDA_SUCCESS) {
        output_of_event(app, event->ref);
    }
    if (rc == CUDA_ERROR_NOT_READY && args->watch != 0) {
        watch = event->ref;
        event_keep(app, watch);
    }
    return query_answer(app, rc, watch, 0);
}

CUresult server_do_ga_event_watch(struct server_app *app, const struct ga_event_watch_args *args)
{
    struct server_event *event = event_find(app, args->event);
    if (event == NULL || event->shared) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct completer_entry *entry = server_entry_make(app, COMPLETER_DONE);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    entry->event = event->ref;
    event_keep(app, event->ref);
    completer_add(&conn_of(app)->completer, entry);
    return SERVER_ANSWERED;
}

CUresult server_do_ga_stream_query(struct server_app *app, const struct ga_stream_query_args *args)
{
    CUstream stream;
    struct event_ref *watch = NULL;
    uint64_t lane = 0;
    CUresult rc = server_handle_stream(app, args->stream, &stream);
    if (rc == CUDA_SUCCESS && app->current == NULL) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (rc == CUDA_SUCCESS) {
        rc = app->driver->cuStreamQuery(stream);
    }
    if (rc == CUDA_SUCCESS) {
        output_of_stream(app, stream_context(app, args->stream), stream);
    }
    if (rc == CUDA_ERROR_NOT_READY && args->watch != 0) {
        CUresult mark = stream_mark(app, args->stream, &watch, &lane);
        rc = mark == CUDA_SUCCESS ? rc : mark;
    }
    return query_answer(app, rc, watch, lane);
}

/* An event of our own behind what the shared one stands for now, even if that is recorded again. */
static CUresult shared_mark(struct server_app *app, const struct server_event *event,
                            struct event_ref **ref)
{
    const struct cuda_driver *driver = app->driver;
    CUstream stream;
    context_apply(app, event->context);
    CUresult rc = driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuStreamWaitEvent(stream, event->ref->real, 0);
        if (rc == CUDA_SUCCESS) {
            rc = event_mark(app, event->context, stream, ref);
        }
        CUresult destroyed = driver->cuStreamDestroy_v2(stream); /* when it has nothing to do */
        if (rc == CUDA_SUCCESS && destroyed != CUDA_SUCCESS) {
            event_drop(app, *ref);
            rc = destroyed;
        }
    }
    context_apply(app, app->current);
    return rc;
}

static CUresult shared_synchronize(struct server_app *app, const struct server_event *event)
{
    struct event_ref *ref;
    CUresult rc = app->driver->cuEventQuery(event->ref->real);
    if (rc == CUDA_SUCCESS) {
        output_of_event(app, event->ref);
    }
    if (rc != CUDA_ERROR_NOT_READY) {
        return rc;
    }
    CU_TRY(shared_mark(app, event, &ref));
    return server_reply_after(app, ref, 0);
}

CUresult server_do_ga_event_synchronize(struct server_app *app,
                                        const struct ga_event_synchronize_args *args)
{
    struct server_event *event = event_find(app, args->event);
    if (event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (event->shared) {
        return shared_synchronize(app, event);
    }
    event_keep(app, event->ref);
    return server_reply_after(app, event->ref, 0);
}

/* Nothing is outstanding and the stream has nothing to do: often so, and cheaper to find out than
 * to record an event. */
static bool stream_is_idle(struct server_app *app, uint64_t wire, CUstream *stream)
{
    return app->current != NULL && completer_is_idle(&conn_of(app)->completer) &&
           server_handle_stream(app, wire, stream) == CUDA_SUCCESS &&
           app->driver->cuStreamQuery(*stream) == CUDA_SUCCESS;
}

CUresult server_do_ga_stream_synchronize(struct server_app *app,
                                         const struct ga_stream_synchronize_args *args)
{
    struct event_ref *ref;
    uint64_t lane;
    CUstream stream;
    if (stream_is_idle(app, args->stream, &stream)) {
        output_of_stream(app, stream_context(app, args->stream), stream);
        return CUDA_SUCCESS;
    }
    CU_TRY(stream_mark(app, args->stream, &ref, &lane));
    return server_reply_after(app, ref, lane);
}
