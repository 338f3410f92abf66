/* SPDX-License-Identifier: Apache-2.0 */
/* Streams. Handle 0 and 1 mean the context's legacy stream; handle 2 means a stream that the client
 * makes for each thread and context. */
#include "client/stream/stream.h"

#include <stdlib.h>

#include "api/calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/copy/copy.h"
#include "client/memory/mirror.h"
#include "client/process/process.h"
#include "client/stream/green_context.h"
#include "front/front.h"

static unsigned long long ids = 16;

static void stream_begin(void *at)
{
    struct client_stream *stream = at;
    stream->id = ++ids;
    stream->attributes = front_stream_attributes_new;
    atomic_store(&stream->object.context->streamed, true);
}

const struct client_object_type client_stream_type = {.bytes = sizeof(struct client_stream),
                                                      .begin = stream_begin};

/* ---- the stream of a thread */

struct own_stream {
    struct own_stream *next;
    uint64_t context, stream; /* handles; the context may be green */
};

static _Thread_local struct own_stream *own;
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

/* The thread ends: its streams go when their work is done. */
static void own_end(void *list)
{
    for (struct own_stream *at = list, *next; at != NULL; at = next) {
        next = at->next;
        if (!atomic_load(&client_exiting) && !atomic_load(&client_dead) &&
            client_object_find(GA_HANDLE_STREAM, at->stream) != NULL &&
            front_context_push((CUcontext)(uintptr_t)at->context) == CUDA_SUCCESS) {
            (void)cuStreamDestroy_v2((CUstream)(uintptr_t)at->stream);
            (void)cuCtxPopCurrent_v2(NULL);
        }
        free(at);
    }
    own = NULL;
}

static void own_key_make(void)
{
    (void)pthread_key_create(&own_key, own_end);
}

CUresult client_stream_make(struct client_context *context, unsigned flags,
                            struct client_stream **out)
{
    struct client_call call;
    CUresult rc = client_call_enter_in(&call, API_OP_cuStreamCreate, context);
    struct client_stream *stream =
        rc == CUDA_SUCCESS ? client_object_make(GA_HANDLE_STREAM, context) : NULL;
    if (stream == NULL) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct cuStreamCreate_args args = {.phStream = stream->object.handle, .Flags = flags};
    rc = client_call_begin(&call, cuStreamCreate_args_bound(&args));
    if (rc != CUDA_SUCCESS) {
        client_object_drop(stream);
        return rc;
    }
    cuStreamCreate_args_write(&call.writer, &args);
    *out = stream;
    return client_call_post(&call);
}

/* The thread's green context, if it is one of `context`. */
static bool green_of(const struct client_context *context, struct front_green *green)
{
    return front_green_current(green) &&
           (uint64_t)(uintptr_t)green->primary == context->object.handle;
}

static CUresult own_find(struct client_context *context, struct client_stream **out)
{
    struct own_stream *at = own;
    struct front_green green;
    bool is_green = green_of(context, &green);
    uint64_t owner = is_green ? green.handle : context->object.handle;
    while (at != NULL && at->context != owner) {
        at = at->next;
    }
    *out = at != NULL ? client_object_find(GA_HANDLE_STREAM, at->stream) : NULL;
    if (*out != NULL) {
        return CUDA_SUCCESS;
    }
    if (at == NULL) {
        at = calloc(1, sizeof *at);
        if (at == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        at->context = owner;
        at->next = own;
        own = at;
        (void)pthread_once(&own_once, own_key_make);
        (void)pthread_setspecific(own_key, own);
    }
    CUresult rc = is_green ? client_green_stream(&green, CU_STREAM_DEFAULT, 0, out)
                           : client_stream_make(context, CU_STREAM_DEFAULT, out);
    if (rc == CUDA_SUCCESS) {
        at->stream = (*out)->object.handle;
    }
    return rc;
}

CUresult client_stream_find(struct client_context *context, CUstream handle,
                            struct client_stream **object, uint64_t *wire)
{
    *object = NULL;
    *wire = (uint64_t)(uintptr_t)handle;
    struct front_green green;
    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        if (green_of(context, &green)) { /* its default stream has a handle here */
            *wire = green.stream;
            *object = client_object_find(GA_HANDLE_STREAM, *wire);
            return *object != NULL ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        CUresult rc = own_find(context, object);
        if (rc == CUDA_SUCCESS) {
            *wire = (*object)->object.handle;
        }
        return rc;
    }
    *object = client_object_find(GA_HANDLE_STREAM, *wire);
    if (*object == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    uint64_t in = (*object)->green;
    return in == 0 || front_green_find((CUcontext)(uintptr_t)in, &green)
               ? CUDA_SUCCESS
               : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* ---- waiting and asking */

uint64_t client_mark_of(const struct client_conn *conn, uint64_t sequence)
{
    return (uint64_t)conn->index << 56 | sequence;
}

bool client_mark_reaches(uint64_t mark, uint64_t wanted)
{
    return mark >> 56 == wanted >> 56 && mark >= wanted;
}

uint64_t client_stream_mark(const struct client_conn *conn)
{
    return client_mark_of(conn, atomic_load(&conn->submitted));
}

static _Atomic uint64_t *ready_of(struct client_context *context, uint64_t handle)
{
    struct client_stream *stream =
        handle != 0 ? client_object_find(GA_HANDLE_STREAM, handle) : NULL;
    return handle == 0 ? &context->legacy_ready : stream != NULL ? &stream->ready : NULL;
}

void client_stream_reached(struct client_context *context, uint64_t stream, uint64_t mark)
{
    _Atomic uint64_t *ready = ready_of(context, stream);
    if (ready != NULL) {
        client_conn_raise(ready, mark);
    }
}

void client_stream_waited(const struct client_call *call, uint64_t stream)
{
    client_stream_reached(call->context, client_stream_known(stream),
                          client_mark_of(call->conn, call->sequence));
}

bool client_stream_passed(struct client_context *context, uint64_t stream, uint64_t mark)
{
    const _Atomic uint64_t *ready = ready_of(context, stream);
    return (ready != NULL && client_mark_reaches(atomic_load(ready), mark)) ||
           client_context_passed(context, mark);
}

bool client_context_passed(const struct client_context *context, uint64_t mark)
{
    return client_context_done(context) >= (mark & CLIENT_MARK_SEQUENCE);
}

CUresult client_stream_wait(struct client_call *call, uint64_t stream)
{
    const struct ga_stream_synchronize_args args = {.stream = stream};
    CUresult rc;
    if (client_stream_idle(call->context, client_stream_known(stream))) {
        return client_context_told(call->context);
    }
    call->op = API_OP_ga_stream_synchronize;
    CLIENT_CALL_SIMPLE(call, ga_stream_synchronize, &args, false, rc);
    if (rc == CUDA_SUCCESS) {
        client_stream_waited(call, stream);
    }
    return rc;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    struct client_call call;
    uint64_t wire;
    CUresult rc = client_call_enter_handle(&call, API_OP_ga_stream_synchronize);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, hStream, &wire);
    }
    uint64_t mark = client_mirrors_mark();
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_wait(&call, wire);
    }
    if (rc == CUDA_SUCCESS) {
        front_mempool_synchronized();
        rc = client_mirrors_after(call.context, wire, mark);
    }
    return rc;
}

/* The marks of a stream: see struct client_stream. */
struct progress {
    _Atomic uint64_t *ready, *watched;
};

static struct progress progress_of(struct client_context *context, struct client_stream *stream)
{
    return stream != NULL ? (struct progress){&stream->ready, &stream->watched}
                          : (struct progress){&context->legacy_ready, &context->legacy_watched};
}

/* Asks the server, which tells later when it has become ready. */
static CUresult query_remote(struct client_call *call, struct progress of, uint64_t wire)
{
    struct ga_stream_query_args args = {.stream = wire, .watch = 1};
    struct ga_reader reader;
    CUresult rc = client_call_begin(call, ga_stream_query_args_bound(&args));
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    uint64_t mark = client_mark_of(call->conn, call->conn->sequence + 1);
    struct reply_action want = {.watched = of.ready, .watch_value = mark};
    atomic_store(of.watched, mark);
    ga_stream_query_args_write(&call->writer, &args);
    rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    if (rc != CUDA_ERROR_NOT_READY) {
        client_conn_raise(of.ready, mark);
    }
    return rc;
}

bool client_stream_idle(struct client_context *context, uint64_t stream)
{
    const struct client_conn *conn = client_session_conn(context->session);
    return client_stream_passed(context, stream, client_mark_of(conn, atomic_load(&conn->worked)));
}

void client_stream_ask(struct client_context *context, uint64_t stream)
{
    struct client_call call;
    const struct ga_stream_query_args args = {.stream = stream};
    CUresult rc = client_call_enter_in(&call, API_OP_ga_stream_query, context);
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_SIMPLE(&call, ga_stream_query, &args, true, rc);
    }
    if (rc == CUDA_SUCCESS) {
        client_stream_waited(&call, stream);
    }
}

/* A program that only polls: while a watch is outstanding, work before it is not done, and neither
 * is the stream; nothing travels then. */
static CUresult query(CUstream hStream, struct client_call *call, uint64_t *wire)
{
    struct client_stream *stream;
    CUresult rc = client_call_enter_handle(call, API_OP_ga_stream_query);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(call, hStream, wire);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_find(call->context, hStream, &stream, wire);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (client_copy_deferred_done(call->context)) {
        return (CUresult)atomic_exchange(&call->context->late, 0);
    }
    const struct progress of = progress_of(call->context, stream);
    uint64_t watched = atomic_load(of.watched);
    if (watched != 0 && !client_mark_reaches(atomic_load(of.ready), watched)) {
        client_conn_drain(call->conn);
        if (atomic_load(&call->conn->dead) != 0) {
            return (CUresult)atomic_load(&call->conn->dead);
        }
        if (!client_mark_reaches(atomic_load(of.ready), watched)) {
            return CUDA_ERROR_NOT_READY;
        }
    }
    if (client_stream_idle(call->context, stream != NULL ? stream->object.handle : 0)) {
        return (CUresult)atomic_exchange(&call->context->late, 0);
    }
    return query_remote(call, of, *wire);
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    struct client_call call;
    uint64_t wire, mark = client_mirrors_mark();
    CUresult rc = query(hStream, &call, &wire);
    return rc == CUDA_SUCCESS ? client_mirrors_after(call.context, wire, mark) : rc;
}

/* ---- facts */

static CUresult stream_of(CUstream handle, struct client_call *call, struct client_stream **stream)
{
    uint64_t wire;
    CUresult rc = client_call_enter_handle(call, 0);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(call, handle, &wire);
    }
    return rc == CUDA_SUCCESS ? client_stream_find(call->context, handle, stream, &wire) : rc;
}

static struct client_context *context_of(const struct client_call *call,
                                         const struct client_stream *stream)
{
    return stream != NULL ? stream->object.context : call->context;
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct client_call call;
    struct client_stream *stream;
    CUresult rc = stream_of(hStream, &call, &stream);
    if (rc == CUDA_SUCCESS && streamId == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *streamId = client_stream_id(call.context, stream);
    }
    return rc;
}

/* Legacy streams share the numbers with contexts: bit 63 tells them from made streams. */
unsigned long long client_stream_id(const struct client_context *context,
                                    const struct client_stream *stream)
{
    return stream != NULL ? stream->id : 1ull << 63 | context->id;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct client_call call;
    struct client_stream *stream;
    CUresult rc = stream_of(hStream, &call, &stream);
    if (rc == CUDA_SUCCESS && pctx == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *pctx = (CUcontext)(uintptr_t)context_of(&call, stream)->object.handle;
        if (stream != NULL && stream->green != 0) {
            *pctx = (CUcontext)(uintptr_t)stream->green;
            front_green_convert(*pctx);
        }
    }
    return rc;
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    struct client_call call;
    struct client_stream *stream;
    CUresult rc = stream_of(hStream, &call, &stream);
    if (rc == CUDA_SUCCESS && device == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *device = context_of(&call, stream)->device->ordinal;
    }
    return rc;
}
