/* SPDX-License-Identifier: Apache-2.0 */
/* Events: recording, asking, waiting. The rest is generated. */
#include "client/stream/event_calls.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/event_call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/event.h"
#include "client/context/mark.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/memory/mirror.h"
#include "client/stream/green_context.h"
#include "front/front.h"

#define ASKED_KEPT 4u /* recordings that are watched after the program has asked */

static CUresult event_of(CUevent handle, struct client_event **event)
{
    *event = client_object_find(GA_HANDLE_EVENT, (uint64_t)(uintptr_t)handle);
    return *event != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    struct client_call call;
    struct cuEventCreate_args args = {.Flags = Flags};
    CU_TRY(client_call_enter(&call, API_OP_cuEventCreate));
    bool shared = (Flags & CU_EVENT_INTERPROCESS) != 0;
    if (phEvent == NULL || (Flags & ~known) != 0 ||
        (shared && (Flags & CU_EVENT_DISABLE_TIMING) == 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_event_make(&call, shared, &args.phEvent));
    CUresult rc = client_post_cuEventCreate(&call, &args);
    if (rc == CUDA_SUCCESS) {
        *phEvent = (CUevent)(uintptr_t)args.phEvent;
    } else {
        client_handle_drop(args.phEvent);
    }
    return rc;
}

#if CUDA_VERSION >= 12050
/* An active context. */
static CUresult event_context_of(CUcontext handle, struct client_context **context)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = handle == NULL ? CUDA_ERROR_INVALID_CONTEXT : client_context_find(handle, context);
    }
    return rc == CUDA_SUCCESS && !atomic_load(&(*context)->active) ? CUDA_ERROR_INVALID_CONTEXT
                                                                   : rc;
}
#endif

/* Inside the sender's lock. */
static void event_remember(struct client_event *event, const struct client_call *call,
                           uint64_t stream)
{
    event->stream = client_stream_known(stream);
    event->mark = client_mark_now(call->conn);
    atomic_store(&event->mirror_stream, stream);
    atomic_store(&event->mirror_mark, client_mirrors_mark());
}

void client_event_whole(struct client_event *event, const struct client_call *call, uint64_t stream)
{
    atomic_fetch_add(&event->recorded, 1);
    event_remember(event, call, stream);
    atomic_store(&event->mirror_stream, MIRROR_ALL);
}

static CUresult reached(const struct client_call *call, const struct client_event *event)
{
    return client_mirrors_after(call->context, atomic_load(&event->mirror_stream),
                                atomic_load(&event->mirror_mark));
}

/* Whether the last recording is known to be done, also from other waits for all work of its context
 * or stream. Under send_lock. */
static bool is_past(const struct client_event *event)
{
    struct client_context *context = event->object.context;
    uint64_t recording = event->mark + 1;
    return atomic_load(&event->mirror_stream) == MIRROR_ALL
               ? client_context_passed(context, recording)
               : client_stream_passed(context, event->stream, recording);
}

/* The last recording of an event. */
struct recording {
    uint64_t number, stream, mark;
    bool whole; /* behind the work of all streams, `stream` among them */
    bool ready; /* it is known to be done, without asking */
};

/* Under send_lock. */
static struct recording last_recording(const struct client_event *event)
{
    struct recording last = {.number = atomic_load(&event->recorded),
                             .stream = event->stream,
                             .mark = event->mark,
                             .whole = atomic_load(&event->mirror_stream) == MIRROR_ALL};
    last.ready = atomic_load(&event->ready) == last.number || is_past(event);
    return last;
}

/* The program knows that the recording is done, whether or not the server was asked. */
static void recording_done(struct client_event *event, const struct recording *done)
{
    struct client_context *context = event->object.context;
    client_conn_raise(&event->ready, done->number);
    if (done->whole) {
        client_streams_reached(context, done->stream, done->mark + 1);
    } else {
        client_stream_reached(context, done->stream, done->mark + 1);
    }
}

/* A program that has asked for the event before will ask again: the server then tells unasked. */
static void event_watch(const struct client_call *before, struct client_event *event)
{
    struct client_call call;
    const struct ga_event_watch_args args = {.event = event->object.handle};
    if (atomic_load_explicit(&event->asked, memory_order_relaxed) == 0 || event->shared ||
        client_call_enter_in(&call, API_OP_ga_event_watch, before->context) != CUDA_SUCCESS ||
        client_call_lacking(&call) ||
        client_call_begin(&call, ga_event_watch_args_bound(&args)) != CUDA_SUCCESS) {
        return;
    }
    uint64_t recorded = atomic_load(&event->recorded);
    const struct reply_action want = {.watched = &event->ready, .watch_value = recorded};
    atomic_fetch_sub(&event->asked, 1);
    atomic_store(&event->watched, recorded);
    ga_event_watch_args_write(&call.writer, &args);
    (void)client_call_post_expect(&call, &want);
}

/* Each question travels: nobody tells of recordings of others. */
static CUresult query_shared(struct client_call *call, const struct client_event *event,
                             bool keep_late)
{
    struct ga_event_query_args args = {.event = event->object.handle};
    return client_wait_ga_event_query(call, &args, keep_late);
}

/* Waits until the server has done everything sent about a shared event: this program may tell
 * another one to use the event next. */
CUresult client_event_settle(const struct client_call *before, const struct client_event *event)
{
    struct client_call call;
    if (!event->shared) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_call_enter_in(&call, API_OP_ga_event_query, before->context);
    if (rc == CUDA_SUCCESS) {
        rc = query_shared(&call, event, true);
    }
    return rc == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : rc;
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    struct client_call call;
    struct client_event *event;
    struct cuEventRecordWithFlags_args args = {.flags = flags};
    CUresult rc = client_call_enter_handle(&call, API_OP_cuEventRecordWithFlags);
    if (rc == CUDA_SUCCESS && flags != CU_EVENT_RECORD_DEFAULT) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = event_of(hEvent, &event);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, hStream, &args.hStream);
    }
    if (rc == CUDA_SUCCESS && event->object.context != call.context) {
        rc = CUDA_ERROR_INVALID_HANDLE; /* an event is recorded in its own context */
    }
    if (rc == CUDA_SUCCESS) {
        args.hEvent = event->object.handle;
        rc = client_call_begin(&call, cuEventRecordWithFlags_args_bound(&args));
    }
    if (rc == CUDA_SUCCESS) {
        /* Inside the sender's lock: recordings are counted in the order in which they travel. */
        atomic_fetch_add(&event->recorded, 1);
        cuEventRecordWithFlags_args_write(&call.writer, &args);
        event_remember(event, &call, args.hStream);
        rc = client_call_post(&call);
        event_watch(&call, event);
    }
    return rc == CUDA_SUCCESS ? client_event_settle(&call, event) : rc;
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    struct client_call call;
    struct client_event *event;
    struct cuEventRecord_args args;
    CUresult rc = client_call_enter_handle(&call, API_OP_cuEventRecord);
    if (rc == CUDA_SUCCESS) {
        rc = event_of(hEvent, &event);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, hStream, &args.hStream);
    }
    if (rc == CUDA_SUCCESS && event->object.context != call.context) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS) {
        args.hEvent = event->object.handle;
        rc = client_call_begin(&call, cuEventRecord_args_bound(&args));
    }
    if (rc == CUDA_SUCCESS) {
        atomic_fetch_add(&event->recorded, 1);
        cuEventRecord_args_write(&call.writer, &args);
        event_remember(event, &call, args.hStream);
        rc = client_call_post(&call);
        event_watch(&call, event);
    }
    return rc == CUDA_SUCCESS ? client_event_settle(&call, event) : rc;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    struct client_call call;
    struct client_event *event;
    struct cuStreamWaitEvent_args args = {.Flags = Flags};
    CU_TRY(client_call_enter_handle(&call, API_OP_cuStreamWaitEvent));
    if (Flags != CU_EVENT_WAIT_DEFAULT) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(client_stream_check(&call, hStream, &args.hStream));
    CU_TRY(client_event_check(&call, hEvent, &args.hEvent));
    CU_TRY(event_of(hEvent, &event));
    CU_TRY(client_post_cuStreamWaitEvent(&call, &args));
    return client_event_settle(&call, event);
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    struct client_call call;
    struct client_event *event;
    struct client_context *context;
    struct front_green green;
    CU_TRY(event_context_of(hCtx, &context));
    if (front_green_context(hCtx, &green)) {
        return client_green_record(&green, hEvent);
    }
    CU_TRY(event_of(hEvent, &event));
    if (event->object.context != context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(client_call_enter_in(&call, API_OP_cuCtxRecordEvent, context));
    const struct cuCtxRecordEvent_args args = {.hCtx = context->object.handle,
                                               .hEvent = event->object.handle};
    CU_TRY(client_call_begin(&call, cuCtxRecordEvent_args_bound(&args)));
    cuCtxRecordEvent_args_write(&call.writer, &args);
    client_event_whole(event, &call, 0); /* the legacy stream's work is part of it */
    CU_TRY(client_call_post(&call));
    return client_event_settle(&call, event);
}

CUresult CUDAAPI cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    struct client_call call;
    struct client_context *context;
    struct client_event *event;
    struct cuCtxWaitEvent_args args;
    struct front_green green;
    CU_TRY(event_context_of(hCtx, &context));
    if (front_green_context(hCtx, &green)) {
        return client_green_wait(&green, hEvent);
    }
    CU_TRY(client_call_enter_in(&call, API_OP_cuCtxWaitEvent, context));
    CU_TRY(client_event_check(&call, hEvent, &args.hEvent));
    CU_TRY(event_of(hEvent, &event));
    args.hCtx = context->object.handle;
    CU_TRY(client_call_begin(&call, cuCtxWaitEvent_args_bound(&args)));
    cuCtxWaitEvent_args_write(&call.writer, &args);
    CU_TRY(client_call_post(&call));
    return client_event_settle(&call, event);
}
#endif

/* Asks the server, which tells later when it has become ready. */
static CUresult event_query_remote(struct client_call *call, struct client_event *event)
{
    struct ga_event_query_args args = {.event = event->object.handle, .watch = 1};
    struct ga_reader reader;
    CU_TRY(client_call_begin(call, ga_event_query_args_bound(&args)));
    uint64_t recorded = atomic_load(&event->recorded);
    struct reply_action want = {.watched = &event->ready, .watch_value = recorded};
    atomic_store(&event->watched, recorded);
    ga_event_query_args_write(&call->writer, &args);
    CUresult rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    if (rc == CUDA_SUCCESS) {
        client_conn_raise(&event->ready, recorded);
    } else if (rc != CUDA_ERROR_NOT_READY) {
        atomic_store(&event->watched, recorded - 1);
    }
    return rc;
}

/* The first question about a recording travels; the others look whether its answer has come. */
static CUresult event_query(CUevent hEvent, struct client_call *call, struct client_event **found)
{
    struct client_event *event;
    uint64_t wire;
    CU_TRY(client_call_enter_handle(call, API_OP_ga_event_query));
    CU_TRY(event_of(hEvent, found));
    CU_TRY(client_event_check(call, hEvent, &wire));
    event = *found;
    if (event->shared) {
        return query_shared(call, event, false);
    }
    CU_TRY((CUresult)client_conn_lock(call->conn, 0));
    const struct recording last = last_recording(event);
    client_conn_unlock(call->conn, false);
    if (!last.ready) {
        atomic_store(&event->asked, ASKED_KEPT);
        if (atomic_load(&event->watched) != last.number) {
            return event_query_remote(call, event);
        }
        client_conn_drain(call->conn);
        CU_TRY((CUresult)client_conn_dead(call->conn));
        if (atomic_load(&event->ready) != last.number) {
            return CUDA_ERROR_NOT_READY;
        }
    }
    recording_done(event, &last);
    return (CUresult)atomic_exchange(&call->context->late, 0);
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    struct client_call call;
    struct client_event *event;
    CU_TRY(event_query(hEvent, &call, &event));
    return reached(&call, event);
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    struct client_call call;
    struct client_event *event;
    struct ga_event_synchronize_args args;
    CU_TRY(client_call_enter_handle(&call, API_OP_ga_event_synchronize));
    CU_TRY(event_of(hEvent, &event));
    CU_TRY(client_event_check(&call, hEvent, &args.event));
    if (!event->shared && atomic_load(&event->watched) == atomic_load(&event->recorded)) {
        client_conn_drain(call.conn); /* the answer may have come */
    }
    CUresult rc = (CUresult)client_conn_lock(call.conn, 0);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct recording last = last_recording(event);
    if (client_conn_worked(call.conn) > (last.mark & CLIENT_MARK_SEQUENCE) + 1) {
        atomic_store(&event->asked, ASKED_KEPT); /* it waits for older work, which may be done */
    }
    client_conn_unlock(call.conn, false);
    bool known = !event->shared && last.ready;
    CU_TRY(known ? client_context_told(call.context)
                 : client_wait_ga_event_synchronize(&call, &args, false));
    if (!event->shared) { /* else it may be another's recording that is done */
        recording_done(event, &last);
    }
    front_mempool_synchronized();
    return reached(&call, event);
}
