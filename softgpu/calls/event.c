/* SPDX-License-Identifier: Apache-2.0 */
/* Events. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/process/print.h"
#include "softgpu/stream/context_events.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/shared_events.h"
#include "softgpu/stream/waits.h"

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    bool between = (Flags & CU_EVENT_INTERPROCESS) != 0;
    if (phEvent == NULL || (Flags & ~known) != 0 ||
        (between && (Flags & CU_EVENT_DISABLE_TIMING) == 0)) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct sg_event *event;
    rc = sg_event_make(context, Flags, &event);
    if (rc == CUDA_SUCCESS) {
        *phEvent = (CUevent)(uintptr_t)event->handle;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent)
{
    CUresult rc = sg_enter_teardown();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_event *event;
    rc = sg_call_event(hEvent, &event);
    if (rc != CUDA_SUCCESS) {
        return sg_leave(rc);
    }
    sg_event_destroy(event);
    return sg_leave(sg_process_state());
}

/* Records the event anew by `submit`; if that fails the old recording stays. */
static CUresult call_event_record(struct sg_event *event, void *where,
                                  CUresult (*submit)(void *where, struct sg_mark *mark))
{
    struct sg_mark *mark = sg_mark_make();
    if (mark == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct sg_mark *before = event->mark;
    event->mark = mark;
    sg_mark_number(mark, event);
    CUresult rc = submit(where, mark);
    if (rc != CUDA_SUCCESS) {
        sg_mark_set_done(mark);
        event->mark = before;
        before = mark;
    }
    sg_mark_drop(before);
    return rc;
}

static CUresult record_in_stream(void *stream, struct sg_mark *mark)
{
    return sg_submit_record(stream, mark);
}

static CUresult record_in_whole(void *whole, struct sg_mark *mark)
{
    return sg_all_streams_record(whole, mark);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    struct sg_stream *stream;
    struct sg_event *event;
    CUresult rc = sg_enter_stream(hStream, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_call_event(hEvent, &event);
    /* CU_EVENT_RECORD_EXTERNAL has a meaning only during capture. */
    if (rc == CUDA_SUCCESS && flags != CU_EVENT_RECORD_DEFAULT) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && stream->context != event->context) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    return sg_leave(rc == CUDA_SUCCESS ? call_event_record(event, stream, record_in_stream) : rc);
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

#if CUDA_VERSION >= 12040
/* Enters and finds both; the lock is held on success. `green`: the handle names a green context,
 * which need not have become a context. */
static CUresult whole_event_enter(CUcontext handle, bool green, CUevent of,
                                  struct sg_all_streams *whole, struct sg_event **event)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    whole->green = sg_green_of(handle);
    whole->context = green && whole->green != NULL ? whole->green->context
                     : !green                      ? sg_context_find(handle)
                                                   : NULL;
    rc = whole->context == NULL || !whole->context->alive ? CUDA_ERROR_INVALID_CONTEXT
                                                          : sg_call_event(of, event);
    return rc == CUDA_SUCCESS ? rc : sg_leave(rc);
}

static CUresult whole_record(CUcontext handle, bool green, CUevent of)
{
    struct sg_all_streams whole;
    struct sg_event *event;
    CU_TRY(whole_event_enter(handle, green, of, &whole, &event));
    return sg_leave(event->context == whole.context
                        ? call_event_record(event, &whole, record_in_whole)
                        : CUDA_ERROR_INVALID_HANDLE);
}

static CUresult whole_wait(CUcontext handle, bool green, CUevent of)
{
    struct sg_all_streams whole;
    struct sg_event *event;
    CU_TRY(whole_event_enter(handle, green, of, &whole, &event));
    return sg_leave(event->mark != NULL ? sg_all_streams_follow(&whole, event->mark)
                                        : CUDA_SUCCESS);
}

CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    return whole_record((CUcontext)(uintptr_t)hCtx, true, hEvent);
}

CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    return whole_wait((CUcontext)(uintptr_t)hCtx, true, hEvent);
}
#endif

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent)
{
    return whole_record(hCtx, false, hEvent);
}

CUresult CUDAAPI cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent)
{
    return whole_wait(hCtx, false, hEvent);
}
#endif

/* Events need no current context. */
static CUresult event_enter(CUevent handle, struct sg_event **event)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_call_event(handle, event);
    return rc == CUDA_SUCCESS ? rc : sg_leave(rc);
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    struct sg_event *event;
    CU_TRY(event_enter(hEvent, &event));
    bool done = event->mark == NULL || sg_mark_done(event->mark);
    return sg_leave(done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    struct sg_event *event;
    CUresult rc = event_enter(hEvent, &event);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_context *context = event->context;
    sg_context_hold(context);
    rc = event->mark != NULL ? sg_mark_wait(event->mark) : CUDA_SUCCESS;
    sg_print_due(context->print);
    sg_context_drop(context);
    rc = sg_leave(rc);
    front_mempool_synchronized();
    return rc;
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
    struct sg_event *start, *end;
    CUresult rc = sg_process_state();
    if (rc == CUDA_SUCCESS && pMilliseconds == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = event_enter(hStart, &start);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_call_event(hEnd, &end);
    if (rc != CUDA_SUCCESS) {
        return sg_leave(rc);
    }
    if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 || start->mark == NULL ||
        end->mark == NULL || start->context->device != end->context->device) {
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (!start->mark->done || !end->mark->done) {
        return sg_leave(CUDA_ERROR_NOT_READY);
    }
    int64_t elapsed = (int64_t)(end->mark->time_ns - start->mark->time_ns);
    *pMilliseconds = (float)((double)elapsed / 1e6);
    return sg_leave(CUDA_SUCCESS);
}
