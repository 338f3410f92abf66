/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for streams, asking them, and facts about them. */
#include "api/calls.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/mark.h"
#include "client/context/stream.h"
#include "client/memory/mirror.h"
#include "front/front.h"

/* ---- waiting and asking */

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
static CUresult stream_query_remote(struct client_call *call, struct progress of, uint64_t wire)
{
    struct ga_stream_query_args args = {.stream = wire, .watch = 1};
    struct ga_reader reader;
    CU_TRY(client_call_begin(call, ga_stream_query_args_bound(&args)));
    uint64_t mark = client_mark_of(call->conn, client_conn_next(call->conn));
    struct reply_action want = {.watched = of.ready, .watch_value = mark};
    atomic_store(of.watched, mark);
    ga_stream_query_args_write(&call->writer, &args);
    CUresult rc = client_call_wait_want(call, &want, false, NULL, 0, &reader);
    client_call_end(call);
    if (rc != CUDA_ERROR_NOT_READY) {
        client_conn_raise(of.ready, mark);
    }
    return rc;
}

/* A program that only polls: while a watch is outstanding, work before it is not done, and neither
 * is the stream; nothing travels then. */
static CUresult stream_query(CUstream hStream, struct client_call *call, uint64_t *wire)
{
    struct client_stream *stream;
    CU_TRY(client_call_enter_handle(call, API_OP_ga_stream_query));
    CU_TRY(client_stream_check(call, hStream, wire));
    CU_TRY(client_stream_find(call->context, hStream, &stream, wire));
    if (client_copy_deferred_done(call->context)) {
        return (CUresult)atomic_exchange(&call->context->late, 0);
    }
    const struct progress of = progress_of(call->context, stream);
    uint64_t watched = atomic_load(of.watched);
    if (watched != 0 && !client_mark_reaches(atomic_load(of.ready), watched)) {
        client_conn_drain(call->conn);
        if (client_conn_dead(call->conn) != 0) {
            return (CUresult)client_conn_dead(call->conn);
        }
        if (!client_mark_reaches(atomic_load(of.ready), watched)) {
            return CUDA_ERROR_NOT_READY;
        }
    }
    if (client_stream_idle(call->context, stream != NULL ? stream->object.handle : 0)) {
        return (CUresult)atomic_exchange(&call->context->late, 0);
    }
    return stream_query_remote(call, of, *wire);
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    struct client_call call;
    uint64_t wire, mark = client_mirrors_mark();
    CU_TRY(stream_query(hStream, &call, &wire));
    return client_mirrors_after(call.context, wire, mark);
}

/* ---- facts */

static CUresult stream_of(CUstream handle, struct client_call *call, struct client_stream **stream)
{
    uint64_t wire;
    CU_TRY(client_call_enter_handle(call, 0));
    CU_TRY(client_stream_check(call, handle, &wire));
    return client_stream_find(call->context, handle, stream, &wire);
}

static struct client_context *stream_context_of(const struct client_call *call,
                                                const struct client_stream *stream)
{
    return stream != NULL ? stream->object.context : call->context;
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct client_call call;
    struct client_stream *stream;
    CU_TRY(stream_of(hStream, &call, &stream));
    if (streamId == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *streamId = client_stream_id(call.context, stream);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct client_call call;
    struct client_stream *stream;
    CU_TRY(stream_of(hStream, &call, &stream));
    if (pctx == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pctx = (CUcontext)(uintptr_t)stream_context_of(&call, stream)->object.handle;
    if (stream != NULL && stream->green != 0) {
        *pctx = (CUcontext)(uintptr_t)stream->green;
        front_green_convert(*pctx);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    struct client_call call;
    struct client_stream *stream;
    CU_TRY(stream_of(hStream, &call, &stream));
    if (device == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *device = stream_context_of(&call, stream)->device->ordinal;
    return CUDA_SUCCESS;
}
