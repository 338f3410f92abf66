/* SPDX-License-Identifier: Apache-2.0 */
/* All work of a context at once. */
#include "server/session/contexts.h"

#include <stdlib.h>

#include "api/call_info.h"
#include "base/clock.h"
#include "server/session/conn.h"
#include "server/session/driver_events.h"
#include "server/session/meter_kernels.h"
#include "server/session/peers.h"

void context_apply(struct server_conn *conn, const struct server_context *context)
{
    (void)conn->driver->cuCtxSetCurrent(context != NULL ? context->real : NULL);
}

static void stream_apply_special(struct server_conn *conn, const struct server_stream *stream)
{
    const struct server_call *call = &conn->call;
    if (stream->green != NULL && stream->real == NULL) {
        (void)conn->driver->cuCtxSetCurrent(stream->green->as_context);
        conn->elsewhere = true;
    }
    if (stream->recording != NULL && api_facts(call->header->opcode).record == API_RECORD_WORK) {
        frame_record_add(stream->recording, call->header, call->bytes, call->values);
    }
}

void stream_apply(struct server_conn *conn, const struct server_stream *stream)
{
    if (stream->special) {
        stream_apply_special(conn, stream);
    }
}

void stream_record(struct server_stream *stream, struct frame_record *record)
{
    stream->recording = record;
    stream->special = record != NULL || (stream->green != NULL && stream->real == NULL);
}

static CUresult mark_add(struct server_conn *conn, struct server_context *context, CUstream stream,
                         struct completer_entry *entry)
{
    CUresult rc = event_mark(&conn->completer, context, stream, &entry->events[entry->event_count]);
    entry->event_count += rc == CUDA_SUCCESS;
    return rc;
}

static size_t count_marks(const struct server_context *context)
{
    size_t count = context->heir != NULL ? 2 : 1; /* the null stream besides */
    ga_list_each (at, next, &context->streams) {
        count++;
    }
    return count;
}

static CUresult context_marks_make(struct completer_entry *entry, size_t count)
{
    entry->events = count <= COMPLETER_FEW ? entry->few : calloc(count, sizeof *entry->events);
    return entry->events != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The context must be current. */
static CUresult mark_all(struct server_conn *conn, struct server_context *context,
                         struct completer_entry *entry)
{
    CUresult rc = mark_add(conn, context, NULL, entry);
    if (rc == CUDA_SUCCESS && context->heir != NULL) {
        rc = mark_add(conn, context, context->heir, entry);
    }
    ga_list_each (at, next, &context->streams) {
        const struct server_stream *stream = ga_container(at, struct server_stream, link);
        if (rc == CUDA_SUCCESS && stream->build == NULL) { /* a capture is no work */
            stream_apply(conn, stream);
            rc = mark_add(conn, context, stream->real, entry);
        }
    }
    if (conn->elsewhere) {
        context_apply(conn, context);
        conn->elsewhere = false;
    }
    return rc;
}

CUresult context_mark(struct server_conn *conn, struct server_context *context,
                      struct completer_entry *entry)
{
    CU_TRY(context_marks_make(entry, count_marks(context)));
    return mark_all(conn, context, entry);
}

static bool captures(const struct server_context *context)
{
    bool found = false;
    ga_list_each (at, next, &context->streams) {
        found = found || ga_container(at, struct server_stream, link)->build != NULL;
    }
    return found;
}

static bool stream_idle(struct server_conn *conn, CUcontext context, CUstream stream)
{
    (void)conn->driver->cuCtxSetCurrent(context);
    return conn->driver->cuStreamQuery(stream) == CUDA_SUCCESS;
}

static bool context_idle(struct server_conn *conn, const struct server_context *context)
{
    bool idle = !captures(context) && stream_idle(conn, context->real, CU_STREAM_LEGACY);
    if (context->heir != NULL) {
        idle = idle && stream_idle(conn, context->real, context->heir);
    }
    ga_list_each (at, next, &context->streams) {
        const struct server_stream *stream = ga_container(at, struct server_stream, link);
        bool green = stream->real == NULL;
        idle = idle &&
               stream_idle(conn, green ? stream->green->as_context : context->real, stream->real);
    }
    return idle;
}

bool contexts_are_idle(struct server_conn *conn)
{
    bool idle = true;
    ga_list_each (at, next, &conn->objects.context_list) {
        idle = idle && context_idle(conn, ga_container(at, struct server_context, link));
    }
    context_apply(conn, conn->current);
    return idle;
}

/* Whether work of the context may use what is freed of the owner's. */
static bool may_use(const struct server_conn *conn, const struct server_context *context,
                    const struct server_context *owner, bool everybody)
{
    return everybody || context == owner || peer_reaches(conn, context, owner);
}

CUresult context_mark_users(struct server_conn *conn, const struct server_context *owner,
                            bool everybody, struct completer_entry *entry)
{
    size_t count = 0, users = 0;
    ga_list_each (at, next, &conn->objects.context_list) {
        const struct server_context *user = ga_container(at, struct server_context, link);
        bool uses = may_use(conn, user, owner, everybody);
        count += uses ? count_marks(user) : 0;
        users += uses;
    }
    entry->of_several = users > 1;
    CUresult rc = context_marks_make(entry, count);
    ga_list_each (at, next, &conn->objects.context_list) {
        struct server_context *user = ga_container(at, struct server_context, link);
        if (rc == CUDA_SUCCESS && may_use(conn, user, owner, everybody)) {
            context_apply(conn, user);
            rc = mark_all(conn, user, entry);
        }
    }
    context_apply(conn, conn->current);
    return rc;
}

static void drained(struct server_conn *conn, struct completer_entry *entry)
{
    (void)conn;
    *(bool *)(uintptr_t)entry->job_values[0] = true;
}

static void given_up(struct server_conn *conn, struct completer_entry *entry)
{
    (void)conn, (void)entry;
}

/* Waits for the entry, and for all that have been handed in before it and are ready. When that is
 * given up, the entry is still under way, and its job comes when nobody waits here any more. (Jobs
 * are the submit thread's, so it may change one that has not run.) */
static enum ga_status entry_wait(struct server_conn *conn, struct completer_entry *entry)
{
    bool done = false;
    entry->job = drained;
    entry->job_values[0] = (uint64_t)(uintptr_t)&done;
    completer_add(&conn->completer, entry);
    enum ga_status status = conn_wait(conn, &done);
    if (status != GA_OK) {
        entry->job = given_up;
    }
    return status;
}

static CUresult wait_drained(struct server_conn *conn, struct completer_entry *entry)
{
    return entry_wait(conn, entry) == GA_OK ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

enum ga_status context_quiesce(struct server_conn *conn, struct server_context *context)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    if (entry == NULL) {
        return GA_NO_MEMORY;
    }
    CUresult rc = context_mark(conn, context, entry);
    GA_TRY(entry_wait(conn, entry));
    return rc == CUDA_SUCCESS ? GA_OK : GA_INVALID;
}

CUresult context_drain(struct server_conn *conn, struct server_context *context)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = context_mark(conn, context, entry);
    CUresult waited = wait_drained(conn, entry); /* also when marking failed */
    if (waited != CUDA_SUCCESS) {
        return waited;
    }
    context_apply(conn, context); /* jobs have run meanwhile */
    output_of_context(conn);      /* the driver waits for what could not be marked */
    return rc;
}

CUresult context_abandon(struct server_conn *conn, struct server_context *context)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    atomic_store(&context->ended, true);
    return entry != NULL ? wait_drained(conn, entry) : CUDA_ERROR_OUT_OF_MEMORY;
}

#if CUDA_VERSION >= 12040
CUresult green_mark(struct server_conn *conn, const struct server_green *green,
                    struct completer_entry *entry)
{
    struct event_ref *ref;
    context_apply(conn, green->context); /* the event is made in it */
    conn->elsewhere = true;
    CU_TRY(event_take(&conn->completer, green->context, CU_EVENT_DISABLE_TIMING, &ref));
    CUresult rc = conn->driver->cuGreenCtxRecordEvent(green->real, ref->real);
    if (rc != CUDA_SUCCESS) {
        event_drop(&conn->completer, ref);
        return rc;
    }
    entry->events = entry->few;
    entry->events[entry->event_count++] = ref;
    return CUDA_SUCCESS;
}

CUresult green_drain(struct server_conn *conn, const struct server_green *green)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    CUresult rc = entry != NULL ? green_mark(conn, green, entry) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn->completer, entry);
        return rc;
    }
    CU_TRY(wait_drained(conn, entry));
    (void)conn->driver->cuCtxSetCurrent(green->as_context); /* of no other is waited for */
    conn->elsewhere = true;
    output_of_context(conn);
    return CUDA_SUCCESS;
}
#endif

/* ---- kernel-time */

void context_limit_kernels(struct server_conn *conn, const struct server_context *context)
{
    const struct quota *quota = conn->ledger->quota;
    driver_limit_call *limit = driver_kernel_limit(conn->driver);
    if (quota != NULL && limit != NULL) {
        uint64_t ms = quota_limit_of(quota, LIMIT_KERNEL_TIME);
        (void)limit(context->real, ms != LIMIT_NONE ? ms : 0);
    }
}

void contexts_limit_kernels(struct server_conn *conn)
{
    if (driver_kernel_limit(conn->driver) == NULL && conn->ledger->quota != NULL) {
        uint64_t ms = quota_limit_of(conn->ledger->quota, LIMIT_KERNEL_TIME);
        meter_limit_kernels(&conn->meter, ms < UINT64_MAX / GA_NS_PER_MS ? ms * GA_NS_PER_MS : 0);
    }
    ga_list_each (at, next, &conn->objects.context_list) {
        context_limit_kernels(conn, ga_container(at, struct server_context, link));
    }
}
