/* SPDX-License-Identifier: Apache-2.0 */
/* Work before a deferred copy is known to be done, but for such as ends by itself and soon
 * (API_WORK_SHORT), so waiting for it never waits for a kernel or for anything that the program has
 * yet to do.
 *
 * What a reader would get wrong: any call that makes deferred copies observable must first complete
 * them. Both sides publish their flag before they read the other's, so at least one of two racing
 * threads sees the other. Waiting uses an event that is recorded right behind the copies, so later
 * work is not waited for. */
#include "client/call/deferred_copies.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/event_call.h"
#include "client/context/context.h"
#include "client/context/mark.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/process/process.h"
#include "front/front.h"

/* Deferred copies are observable in other contexts, or by other programs. */
static atomic_bool seen;
static pthread_mutex_t marking = PTHREAD_MUTEX_INITIALIZER; /* client_context.marker, and its use */

static bool shows(const struct client_context *context)
{
    return atomic_load(&context->shows) || atomic_load(&seen) || client_mirrors_some() ||
           (context->flags & FRONT_CTX_SYNC_MEMOPS) != 0;
}

/* The legacy stream begins nothing before the other streams have done what came before. */
static bool copies_passed(struct client_context *context, uint64_t mark)
{
    return client_context_passed(context, mark) ||
           (!atomic_load(&context->nonblocking) && client_stream_passed(context, 0, mark));
}

/* All work of the context is known to be done, except short work: since when that was so, there has
 * been work in one stream alone, and that is done, too. */
static bool rests(struct client_context *context)
{
    const struct client_conn *conn = client_session_conn(context->session);
    const struct client_conn_facts *facts = client_conn_facts(conn);
    uint64_t mark = client_mark_of(conn, client_conn_lasting(conn));
    if (copies_passed(context, mark)) {
        return true;
    }
    uint64_t in = atomic_load(&facts->lasting_in), before = atomic_load(&facts->lasting_before);
    const struct client_stream *stream = client_object_find(GA_HANDLE_STREAM, in);
    return stream != NULL && stream->object.context == context &&
           client_stream_passed(context, in, mark) &&
           copies_passed(context, client_mark_of(conn, before));
}

bool client_copy_deferred(const struct client_call *call, uint64_t stream)
{
    struct client_context *context = call->context;
    if (client_stream_known(stream) != 0 || shows(context) || !rests(context)) {
        return false;
    }
    atomic_store(&client_conn_facts(call->conn)->owing,
                 context->object.handle); /* before `owed`: see deferred_settle() */
    client_conn_raise(&context->owed, client_mark_of(call->conn, call->sequence));
    return !shows(context);
}

bool client_copy_deferred_done(const struct client_context *context)
{
    const struct client_conn *conn = client_session_conn(context->session);
    uint64_t worked = client_mark_of(conn, client_conn_worked(conn));
    return client_mark_reaches(atomic_load(&context->owed), worked) && !shows(context);
}

static CUresult marker_of(struct client_context *context, uint64_t *event)
{
    struct client_call call;
    *event = context->marker;
    if (client_object_find(GA_HANDLE_EVENT, *event) != NULL) {
        return CUDA_SUCCESS;
    }
    struct cuEventCreate_args args = {.Flags = CU_EVENT_DISABLE_TIMING};
    CU_TRY(client_call_enter_in(&call, API_OP_cuEventCreate, context));
    CU_TRY(client_event_make(&call, false, &args.phEvent));
    *event = context->marker = args.phEvent;
    return client_post_cuEventCreate(&call, &args);
}

/* Under the lock. Another thread's work may come between such a copy and the event: two threads
 * have no order. */
static CUresult deferred_mark(struct client_conn *conn)
{
    struct client_call call;
    struct cuEventRecord_args args = {.hStream = 0};
    uint64_t handle = atomic_exchange(&client_conn_facts(conn)->owing, 0);
    struct client_context *context =
        handle != 0 ? client_object_find(GA_HANDLE_CONTEXT, handle) : NULL;
    if (context == NULL || !atomic_load(&context->active)) {
        return CUDA_SUCCESS;
    }
    CUresult rc = marker_of(context, &args.hEvent);
    if (rc == CUDA_SUCCESS) {
        rc = client_call_enter_in(&call, API_OP_cuEventRecord, context);
    }
    if (rc == CUDA_SUCCESS) {
        call.brief = true;
        rc = client_post_cuEventRecord(&call, &args);
    }
    if (rc != CUDA_SUCCESS) {
        atomic_store(&client_conn_facts(conn)->owing, handle);
    }
    return rc;
}

void client_copy_fence(struct client_conn *conn)
{
    pthread_mutex_lock(&marking);
    (void)deferred_mark(conn);
    pthread_mutex_unlock(&marking);
}

void client_copy_forget(struct client_context *context)
{
    pthread_mutex_lock(&marking);
    context->marker = 0;
    atomic_store(&context->owed, 0);
    pthread_mutex_unlock(&marking);
}

static CUresult wait_marked(struct client_call *call, uint64_t event)
{
    const struct ga_event_synchronize_args args = {.event = event};
    return client_wait_ga_event_synchronize(call, &args, true);
}

static CUresult wait_all(struct client_call *call)
{
    const struct ga_stream_synchronize_args args = {.stream = 0};
    call->op = API_OP_ga_stream_synchronize;
    return client_wait_ga_stream_synchronize(call, &args, true);
}

/* Completes the deferred copies of the context. A thread that sees `owed` also sees the connection
 * `owing`, or the event behind the copy: they are set in that order. */
static void deferred_settle(struct client_context *context)
{
    struct client_call call;
    uint64_t owed = atomic_load(&context->owed);
    if (owed == 0 || client_stream_passed(context, 0, owed) ||
        client_call_enter_in(&call, API_OP_ga_event_synchronize, context) != CUDA_SUCCESS) {
        return;
    }
    pthread_mutex_lock(&marking);
    CUresult rc = deferred_mark(call.conn);
    uint64_t event = context->marker;
    pthread_mutex_unlock(&marking);
    rc = rc == CUDA_SUCCESS ? wait_marked(&call, event) : wait_all(&call);
    if (rc == CUDA_SUCCESS) {
        client_stream_reached(context, 0, owed);
    }
}

void client_copy_complete(void)
{
    struct client_context *context;
    uint32_t index = 0;
    while (!atomic_load(&client_dead) && (context = client_context_next(&index)) != NULL) {
        if (atomic_load(&context->active)) {
            deferred_settle(context);
        }
    }
}

void client_copy_expose(struct client_context *context)
{
    atomic_store(context != NULL ? &context->shows : &seen, true);
    client_copy_complete();
}
