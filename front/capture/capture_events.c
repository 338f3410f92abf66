/* SPDX-License-Identifier: Apache-2.0 */
/* Forks and joins by events, and calls that capture forbids for a stream or an event. An event
 * whose last recording was captured stays so after the capture has ended: there is nothing to
 * wait for. */
#include <stdlib.h>

#include "api/capture_hooks.h"
#include "front/capture/capture.h"
#include "front/capture/capture_state.h"
#include "front/front.h"
#include "front/graph/graph_params.h"

static struct capture_event *capture_event_find(CUevent event)
{
    ga_list_each (at, following, &capture_events) {
        struct capture_event *found = ga_container(at, struct capture_event, of_all);
        if (found->event == event) {
            return found;
        }
    }
    return NULL;
}

static void capture_event_forget(struct capture_event *found)
{
    if (found != NULL) {
        ga_list_remove(&found->of_all);
        capture_set_free(&found->set);
        free(found);
        atomic_fetch_sub(&front_capture_count, 1);
    }
}

static void invalidate(struct capture *capture)
{
    if (capture != NULL) {
        capture->invalid = true;
    }
}

/* ---- recording ---- */

static CUresult record_locked(const struct capture_stream *stream, CUevent event)
{
    struct capture_set set = {0};
    struct capture_event *found = capture_event_find(event);
    struct capture_event *made = found != NULL ? found : calloc(1, sizeof *made);
    if (made == NULL || !capture_set_join(&set, &stream->set)) {
        capture_set_free(&set);
        if (made != found) {
            free(made);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (made != found) {
        ga_list_append(&capture_events, &made->of_all);
        atomic_fetch_add(&front_capture_count, 1);
    }
    capture_set_free(&made->set);
    made->event = event;
    made->capture = stream->capture->id;
    made->set = set;
    return CUDA_SUCCESS;
}

static CUresult event_node(struct capture_stream *stream, CUgraphNodeType type, CUevent event)
{
    struct front_node_params params;
    CUresult rc = front_event_node_make(&params, type, event);
    return rc == CUDA_SUCCESS ? capture_add(stream, &params) : rc;
}

CUresult CUDAAPI front_capture_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream,
                                                      unsigned int flags)
{
    struct capture_stream *stream;
    CUcontext context;
    CUresult rc = capture_enter(hStream, &stream);
    if (rc == FRONT_CAPTURE_RUN) {
        capture_lock();
        capture_event_forget(
            capture_event_find(hEvent)); /* its last recording is no longer a captured one */
        return capture_unlock(rc);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = front_host.event_context(hEvent, &context);
    if (rc == CUDA_SUCCESS && context != stream->context) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS && flags > CU_EVENT_RECORD_EXTERNAL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = flags == CU_EVENT_RECORD_EXTERNAL
                 ? event_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, hEvent)
                 : record_locked(stream, hEvent);
    }
    return capture_unlock(rc);
}

CUresult CUDAAPI front_capture_cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return front_capture_cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

/* ---- waiting in streams ---- */

/* `stream` NULL: the stream does not capture yet. */
static CUresult wait_locked(CUstream handle, uint64_t key, struct capture_stream *stream,
                            const struct capture_event *event)
{
    struct capture *capture = capture_of(event->capture);
    if (capture == NULL) { /* the capture has ended: captured work cannot be waited for */
        invalidate(stream != NULL ? stream->capture : NULL);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (capture->invalid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (stream != NULL && stream->capture != capture) {
        invalidate(stream->capture);
        invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (key == 0) { /* the legacy stream cannot capture */
        invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream == NULL) {
        struct front_stream_facts facts;
        CUresult rc = front_host.stream(handle, &facts);
        if (rc == CUDA_SUCCESS) {
            rc = capture_join(capture, key, facts.context, facts.blocking, &stream);
        }
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    return capture_set_join(&stream->set, &event->set) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI front_capture_cuStreamWaitEvent(CUstream hStream, CUevent hEvent,
                                                 unsigned int Flags)
{
    uint64_t key;
    CUcontext context;
    if (capture_key(hStream, &key) != CUDA_SUCCESS || Flags > CU_EVENT_WAIT_EXTERNAL) {
        return FRONT_CAPTURE_RUN;
    }
    capture_lock();
    struct capture_stream *stream = key != 0 ? capture_find(key) : NULL;
    const struct capture_event *event = capture_event_find(hEvent);
    CUresult rc = key == 0 ? capture_implicit(true) : CUDA_SUCCESS;
    if (rc == CUDA_SUCCESS && stream == NULL && event == NULL) {
        rc = FRONT_CAPTURE_RUN;
    }
    if (rc == CUDA_SUCCESS && stream != NULL && stream->capture->invalid) {
        rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.event_context(hEvent, &context);
    }
    if (rc == CUDA_SUCCESS && Flags == CU_EVENT_WAIT_EXTERNAL) {
        rc = stream != NULL ? event_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, hEvent)
                            : CUDA_ERROR_INVALID_VALUE;
    } else if (rc == CUDA_SUCCESS && event != NULL) {
        rc = wait_locked(hStream, key, stream, event);
    } else if (rc == CUDA_SUCCESS) { /* a recording outside of the capture */
        invalidate(stream->capture);
        rc = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    return capture_unlock(rc);
}

/* ---- queries of events ---- */

/* `unsafe`: a query of an event that was not captured may be forbidden as well. */
static CUresult event_use(CUevent handle, bool unsafe)
{
    capture_lock();
    const struct capture_event *event = capture_event_find(handle);
    if (event != NULL) {
        invalidate(capture_of(event->capture));
        return capture_unlock(CUDA_ERROR_CAPTURED_EVENT);
    }
    (void)capture_unlock(CUDA_SUCCESS);
    return unsafe ? front_capture_unsafe() : FRONT_CAPTURE_RUN;
}

CUresult CUDAAPI front_capture_cuEventQuery(CUevent hEvent)
{
    return event_use(hEvent, true);
}

CUresult CUDAAPI front_capture_cuEventSynchronize(CUevent hEvent)
{
    return event_use(hEvent, true);
}

CUresult CUDAAPI front_capture_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart,
                                                     CUevent hEnd)
{
    (void)pMilliseconds;
    CUresult rc = event_use(hStart, false);
    return rc == FRONT_CAPTURE_RUN ? event_use(hEnd, false) : rc;
}

CUresult CUDAAPI front_capture_cuEventDestroy_v2(CUevent hEvent)
{
    capture_lock();
    capture_event_forget(capture_event_find(hEvent));
    return capture_unlock(FRONT_CAPTURE_RUN);
}

/* ---- queries of streams ---- */

/* Whether other streams continue the stream's last captured node. */
static bool capture_stream_joined(const struct capture_stream *stream)
{
    for (size_t i = 0; i < stream->set.count; i++) {
        bool taken = !capture_is_last(stream->capture, stream->set.nodes[i]);
        ga_list_each (at, following, &capture_streams) {
            const struct capture_stream *other = ga_container(at, struct capture_stream, of_all);
            taken = taken || (other != stream && other->capture == stream->capture &&
                              capture_set_has(&other->set, stream->set.nodes[i]));
        }
        if (!taken) {
            return false;
        }
    }
    return true;
}

/* A stream can be destroyed once others have joined it, except the origin stream; otherwise the
 * capture is invalidated. */
CUresult CUDAAPI front_capture_cuStreamDestroy_v2(CUstream hStream)
{
    uint64_t key;
    CUgraph dropped = NULL;
    if (capture_key(hStream, &key) != CUDA_SUCCESS || key == 0) {
        return FRONT_CAPTURE_RUN;
    }
    capture_lock();
    struct capture_stream *stream = capture_find(key);
    if (stream != NULL && stream->origin) {
        dropped = stream->capture->owns_graph ? stream->capture->graph : NULL;
        capture_end(stream->capture);
    } else if (stream != NULL) {
        if (!capture_stream_joined(stream)) {
            invalidate(stream->capture);
        }
        ga_list_remove(&stream->of_all);
        capture_set_free(&stream->set);
        free(stream);
    }
    (void)capture_unlock(CUDA_SUCCESS);
    if (dropped != NULL) {
        (void)front_graph_destroy(dropped);
    }
    return FRONT_CAPTURE_RUN;
}

/* ---- waiting for a context ---- */

/* Whether the stream is of the context, or of a green context of it. */
static bool capture_stream_is_of(const struct capture_stream *stream, CUcontext context)
{
    struct front_green green;
    return stream->context == context ||
           (front_green_is(stream->context) && front_green_find(stream->context, &green) &&
            green.primary == context);
}

static CUresult capture_context_use(CUcontext context)
{
    CUresult rc = FRONT_CAPTURE_RUN;
    capture_lock();
    ga_list_each (at, following, &capture_streams) {
        struct capture_stream *stream = ga_container(at, struct capture_stream, of_all);
        if (capture_stream_is_of(stream, context)) {
            invalidate(stream->capture);
            rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return capture_unlock(rc);
}

static CUresult record_of(CUcontext context, CUevent event)
{
    CUresult rc = capture_context_use(context);
    if (rc == FRONT_CAPTURE_RUN) {
        capture_lock();
        capture_event_forget(
            capture_event_find(event)); /* its last recording is no longer a captured one */
        (void)capture_unlock(rc);
    }
    return rc;
}

/* A captured recording cannot be waited for outside of the capture. */
static CUresult wait_of(CUcontext context, CUevent event)
{
    CUresult rc = capture_context_use(context);
    if (rc != FRONT_CAPTURE_RUN) {
        return rc;
    }
    capture_lock();
    const struct capture_event *found = capture_event_find(event);
    if (found != NULL) {
        invalidate(capture_of(found->capture));
        rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return capture_unlock(rc);
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI front_capture_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    return record_of(hCtx, hEvent);
}

CUresult CUDAAPI front_capture_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    return wait_of(hCtx, hEvent);
}
#endif

#if CUDA_VERSION >= 12040
CUresult CUDAAPI front_capture_cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    return record_of((CUcontext)(uintptr_t)hCtx, hEvent);
}

CUresult CUDAAPI front_capture_cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    return wait_of((CUcontext)(uintptr_t)hCtx, hEvent);
}
#endif

CUresult CUDAAPI front_capture_cuCtxSynchronize(void)
{
    return capture_context_use(front_context_current());
}

CUresult CUDAAPI front_capture_cuCtxSynchronize_v2(CUcontext ctx)
{
    return capture_context_use(ctx != NULL ? ctx : front_context_current());
}
