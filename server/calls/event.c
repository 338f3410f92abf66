/* SPDX-License-Identifier: Apache-2.0 */
/* Events, and asking or waiting for events and streams. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/session/conn.h"

static struct server_event *event_find(struct server_conn *conn, uint64_t wire)
{
    return ga_handle_table_find(&conn->objects.events, wire);
}

/* An event of the current context under the client's handle. Takes `ref`. */
static CUresult event_put(struct server_conn *conn, uint64_t wire, struct event_ref *ref)
{
    struct server_event *event = calloc(1, sizeof *event);
    if (event == NULL) {
        event_drop(&conn->completer, ref);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *event = (struct server_event){.context = conn->current,
                                   .handle = wire,
                                   .flags = ref->flags,
                                   .shared = (ref->flags & CU_EVENT_INTERPROCESS) != 0,
                                   .ref = ref};
    enum ga_status status = ga_handle_table_take(&conn->objects.events, wire, event);
    if (status != GA_OK) {
        event_drop(&conn->completer, event->ref);
        free(event);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_append(&conn->current->events, &event->link);
    return CUDA_SUCCESS;
}

static CUresult event_make(struct server_conn *conn, uint64_t wire, unsigned flags)
{
    struct event_ref *ref;
    if (conn->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    /* A thread that waits blocks on the client, so the flag has no meaning here. */
    flags &= ~(unsigned)CU_EVENT_BLOCKING_SYNC;
    CUresult rc = event_new(&conn->completer, conn->current, flags, &ref);
    return rc == CUDA_SUCCESS ? event_put(conn, wire, ref) : rc;
}

CUresult event_adopt(struct server_conn *conn, uint64_t wire, CUevent real)
{
    const unsigned flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    struct event_ref *ref;
    CUresult rc = event_own(&conn->completer, conn->current, flags, real, &ref);
    return rc == CUDA_SUCCESS ? event_put(conn, wire, ref) : rc;
}

bool server_call_cuEventCreate(struct server_conn *conn, const struct wire_header *header,
                               struct ga_reader *reader)
{
    struct cuEventCreate_args args;
    cuEventCreate_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = event_make(conn, args.phEvent, args.Flags);
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}

CUresult event_free(struct server_conn *conn, struct server_event *event)
{
    (void)ga_handle_table_remove(&conn->objects.events, event->handle);
    ga_list_remove(&event->link);
    event_drop(&conn->completer, event->ref);
    free(event);
    return CUDA_SUCCESS;
}

bool server_call_cuEventDestroy_v2(struct server_conn *conn, const struct wire_header *header,
                                   struct ga_reader *reader)
{
    struct cuEventDestroy_v2_args args;
    cuEventDestroy_v2_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_event *event = event_find(conn, args.hEvent);
    if (event == NULL) {
        server_async_error(conn, header, CUDA_ERROR_INVALID_HANDLE);
    } else {
        (void)event_free(conn, event);
    }
    return true;
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

/* An event that somebody still waits for must not change under him: a new record gets a new event
 * of the driver. One that is shared has but this one, and who waits for it has another: see
 * shared_mark. */
static CUresult event_record_at(struct server_conn *conn, struct server_event *event,
                                const struct recording *at)
{
    struct completer *completer = &conn->completer;
    CUresult rc = CUDA_SUCCESS;
    pthread_mutex_lock(&completer->lock);
    bool watched = event->ref->refs > 1 && !event->shared;
    pthread_mutex_unlock(&completer->lock);
    struct event_ref *ref = event->ref;
    if (watched) {
        rc = event_take(completer, event->context, event->flags, &ref);
    }
    if (rc == CUDA_SUCCESS) {
        rc = record_now(conn->driver, ref->real, at);
    }
    if (watched && rc == CUDA_SUCCESS) {
        event_drop(completer, event->ref);
        event->ref = ref;
    } else if (watched && ref != event->ref) {
        event_drop(completer, ref);
    }
    return rc;
}

static CUresult event_record(struct server_conn *conn, uint64_t wire, uint64_t stream_wire,
                             unsigned flags)
{
    struct server_event *event = event_find(conn, wire);
    struct recording at = {.flags = flags};
    CUresult rc = server_handle_stream(conn, stream_wire, &at.stream);
    return event == NULL || rc != CUDA_SUCCESS ? CUDA_ERROR_INVALID_HANDLE
                                               : event_record_at(conn, event, &at);
}

bool server_call_ga_green_record(struct server_conn *conn, const struct wire_header *header,
                                 struct ga_reader *reader)
{
    struct ga_green_record_args args;
    ga_green_record_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    const struct server_green *green = ga_handle_table_find(&conn->objects.greens, args.green);
    struct server_event *event = event_find(conn, args.event);
    CUresult rc = CUDA_ERROR_INVALID_HANDLE;
    if (green != NULL && event != NULL) {
        const struct recording at = {.green = green->real};
        rc = event_record_at(conn, event, &at);
    }
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}

#if CUDA_VERSION >= 12050
bool server_call_cuCtxRecordEvent(struct server_conn *conn, const struct wire_header *header,
                                  struct ga_reader *reader)
{
    struct cuCtxRecordEvent_args args;
    cuCtxRecordEvent_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_event *event = event_find(conn, args.hEvent);
    struct recording at = {0};
    CUresult rc = server_handle_context(conn, args.hCtx, &at.context);
    if (rc == CUDA_SUCCESS) {
        rc = event == NULL || at.context == NULL ? CUDA_ERROR_INVALID_HANDLE
                                                 : event_record_at(conn, event, &at);
    }
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}
#endif

bool server_call_cuEventRecord(struct server_conn *conn, const struct wire_header *header,
                               struct ga_reader *reader)
{
    struct cuEventRecord_args args;
    cuEventRecord_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = event_record(conn, args.hEvent, args.hStream, 0);
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}

bool server_call_cuEventRecordWithFlags(struct server_conn *conn, const struct wire_header *header,
                                        struct ga_reader *reader)
{
    struct cuEventRecordWithFlags_args args;
    cuEventRecordWithFlags_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = event_record(conn, args.hEvent, args.hStream, args.flags);
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}

/* NULL: none. */
static const struct server_context *stream_context(struct server_conn *conn, uint64_t wire)
{
    const struct server_stream *stream = ga_handle_table_find(&conn->objects.streams, wire);
    return stream != NULL ? stream->context : conn->current;
}

/* The answer to a query. A good one is told in its turn, after what has finished before. */
static void query_answer(struct server_conn *conn, const struct wire_header *header, CUresult rc,
                         struct event_ref *watch, uint64_t lane)
{
    if (rc != CUDA_ERROR_NOT_READY) {
        server_reply(conn, header, rc);
        return;
    }
    struct send_queue_frame *frame =
        send_queue_frame_make(&conn->frames, 16, WIRE_REPLY, header->session, header->sequence);
    struct completer_entry *entry = watch != NULL
                                        ? completer_entry_make(&conn->completer, COMPLETER_DONE,
                                                               header->session, header->sequence)
                                        : NULL;
    if (frame == NULL || (watch != NULL && entry == NULL)) {
        server_fail(conn, "no memory for a reply");
        return;
    }
    ga_write_i32(&frame->writer, (int32_t)rc);
    ga_write_u32(&frame->writer, 0);
    send_queue_append(&conn->out, frame);
    if (entry != NULL) {
        entry->event = watch;
        entry->base.lane = lane;
        completer_add(&conn->completer, entry);
    }
}

bool server_call_ga_event_query(struct server_conn *conn, const struct wire_header *header,
                                struct ga_reader *reader)
{
    struct ga_event_query_args args;
    ga_event_query_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_event *event = event_find(conn, args.event);
    CUresult rc = CUDA_ERROR_INVALID_HANDLE;
    struct event_ref *watch = NULL;
    if (event != NULL) {
        rc = conn->driver->cuEventQuery(event->ref->real);
    }
    if (rc == CUDA_SUCCESS) {
        output_of_event(conn, event->ref);
    }
    if (rc == CUDA_ERROR_NOT_READY && args.watch != 0) {
        watch = event->ref;
        event_keep(&conn->completer, watch);
    }
    query_answer(conn, header, rc, watch, 0);
    return true;
}

bool server_call_ga_event_watch(struct server_conn *conn, const struct wire_header *header,
                                struct ga_reader *reader)
{
    struct ga_event_watch_args args;
    ga_event_watch_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_event *event = event_find(conn, args.event);
    if (event == NULL || event->shared) {
        server_reply(conn, header, CUDA_ERROR_INVALID_HANDLE);
        return true;
    }
    struct completer_entry *entry =
        completer_entry_make(&conn->completer, COMPLETER_DONE, header->session, header->sequence);
    if (entry == NULL) {
        server_reply(conn, header, CUDA_ERROR_OUT_OF_MEMORY);
        return true;
    }
    entry->event = event->ref;
    event_keep(&conn->completer, event->ref);
    completer_add(&conn->completer, entry);
    return true;
}

bool server_call_ga_stream_query(struct server_conn *conn, const struct wire_header *header,
                                 struct ga_reader *reader)
{
    struct ga_stream_query_args args;
    ga_stream_query_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUstream stream;
    struct event_ref *watch = NULL;
    uint64_t lane = 0;
    CUresult rc = server_handle_stream(conn, args.stream, &stream);
    if (rc == CUDA_SUCCESS && conn->current == NULL) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (rc == CUDA_SUCCESS) {
        rc = conn->driver->cuStreamQuery(stream);
    }
    if (rc == CUDA_SUCCESS) {
        output_of_stream(conn, stream_context(conn, args.stream), stream);
    }
    if (rc == CUDA_ERROR_NOT_READY && args.watch != 0) {
        CUresult mark = stream_mark(conn, args.stream, &watch, &lane);
        rc = mark == CUDA_SUCCESS ? rc : mark;
    }
    query_answer(conn, header, rc, watch, lane);
    return true;
}

/* An event of our own behind what the shared one stands for now, whoever records that again. */
static CUresult shared_mark(struct server_conn *conn, const struct server_event *event,
                            struct event_ref **ref)
{
    const struct cuda_driver *driver = conn->driver;
    CUstream stream;
    context_apply(conn, event->context);
    CUresult rc = driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuStreamWaitEvent(stream, event->ref->real, 0);
        if (rc == CUDA_SUCCESS) {
            rc = event_mark(&conn->completer, event->context, stream, ref);
        }
        CUresult destroyed = driver->cuStreamDestroy_v2(stream); /* when it has nothing to do */
        if (rc == CUDA_SUCCESS && destroyed != CUDA_SUCCESS) {
            event_drop(&conn->completer, *ref);
            rc = destroyed;
        }
    }
    context_apply(conn, conn->current);
    return rc;
}

static void shared_synchronize(struct server_conn *conn, const struct wire_header *header,
                               const struct server_event *event)
{
    struct event_ref *ref;
    CUresult rc = conn->driver->cuEventQuery(event->ref->real);
    if (rc == CUDA_ERROR_NOT_READY) {
        rc = shared_mark(conn, event, &ref);
        if (rc == CUDA_SUCCESS) {
            server_reply_after(conn, header, ref, 0);
            return;
        }
    } else if (rc == CUDA_SUCCESS) {
        output_of_event(conn, event->ref);
    }
    server_reply(conn, header, rc);
}

bool server_call_ga_event_synchronize(struct server_conn *conn, const struct wire_header *header,
                                      struct ga_reader *reader)
{
    struct ga_event_synchronize_args args;
    ga_event_synchronize_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_event *event = event_find(conn, args.event);
    if (event == NULL) {
        server_reply(conn, header, CUDA_ERROR_INVALID_HANDLE);
        return true;
    }
    if (event->shared) {
        shared_synchronize(conn, header, event);
        return true;
    }
    event_keep(&conn->completer, event->ref);
    server_reply_after(conn, header, event->ref, 0);
    return true;
}

/* Nothing is outstanding and the stream has nothing to do: often so, and cheaper to find out than
 * to record an event. */
static bool stream_is_idle(struct server_conn *conn, uint64_t wire, CUstream *stream)
{
    return conn->current != NULL && completer_is_idle(&conn->completer) &&
           server_handle_stream(conn, wire, stream) == CUDA_SUCCESS &&
           conn->driver->cuStreamQuery(*stream) == CUDA_SUCCESS;
}

bool server_call_ga_stream_synchronize(struct server_conn *conn, const struct wire_header *header,
                                       struct ga_reader *reader)
{
    struct ga_stream_synchronize_args args;
    ga_stream_synchronize_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct event_ref *ref;
    uint64_t lane;
    CUstream stream;
    if (stream_is_idle(conn, args.stream, &stream)) {
        output_of_stream(conn, stream_context(conn, args.stream), stream);
        server_reply(conn, header, CUDA_SUCCESS);
        return true;
    }
    CUresult rc = stream_mark(conn, args.stream, &ref, &lane);
    if (rc != CUDA_SUCCESS) {
        server_reply(conn, header, rc);
    } else {
        server_reply_after(conn, header, ref, lane);
    }
    return true;
}
