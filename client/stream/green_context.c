/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: front/ has the table of them, the server their half of the driver. */
#include "client/stream/green_context.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/call/event_call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/event.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/memory/mirror.h"
#include "client/process/process.h"
#include "client/stream/event_calls.h"
#include "front/front.h"

#include <string.h>

/* A call that is no program's: without a current context. */
static CUresult green_enter(struct client_call *call, uint16_t op, CUcontext primary)
{
    struct client_context *context;
    CU_TRY(client_context_find(primary, &context));
    if (!atomic_load(&context->active)) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    return client_call_enter_in(call, op, context);
}

CUresult client_green_make(struct front_green *green)
{
    struct client_call call;
    struct client_stream *stream = NULL;
    CU_TRY(cuDevicePrimaryCtxRetain(&green->primary, green->device));
    CUresult rc = green_enter(&call, API_OP_ga_green_create, green->primary);
    if (rc == CUDA_SUCCESS) {
        client_stream_announce(call.context, CU_STREAM_NON_BLOCKING);
        client_copy_expose(call.context); /* its streams do not wait for the primary's */
        stream = client_object_make(GA_HANDLE_STREAM, call.context);
        rc = stream != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc == CUDA_SUCCESS) {
        stream->green = green->handle;
        green->stream = stream->object.handle;
        struct ga_green_create_args args = {.context = call.context->object.handle,
                                            .green = green->handle,
                                            .stream = green->stream};
        memcpy(args.pairs, green->part.pairs, sizeof args.pairs);
        rc = client_wait_ga_green_create(&call, &args, true);
    }
    if (rc != CUDA_SUCCESS) {
        if (stream != NULL) {
            client_object_drop(stream);
        }
        (void)cuDevicePrimaryCtxRelease_v2(green->device);
    }
    return rc;
}

/* ---- all of its work */

/* The event, which is of its primary context, is recorded behind all that its streams have. */
static CUresult record(const struct front_green *green, struct client_event *event)
{
    struct client_call call;
    CUresult rc = green_enter(&call, API_OP_ga_green_record, green->primary);
    if (rc == CUDA_SUCCESS && event->object.context != call.context) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    const struct ga_green_record_args args = {.green = green->handle,
                                              .event = event->object.handle};
    if (rc == CUDA_SUCCESS) {
        rc = client_call_begin(&call, ga_green_record_args_bound(&args));
    }
    if (rc == CUDA_SUCCESS) {
        ga_green_record_args_write(&call.writer, &args);
        client_event_whole(event, &call, green->stream);
        rc = client_call_post(&call);
    }
    return rc == CUDA_SUCCESS ? client_event_settle(&call, event) : rc;
}

CUresult client_green_record(const struct front_green *green, CUevent handle)
{
    struct client_event *event = client_object_find(GA_HANDLE_EVENT, (uint64_t)(uintptr_t)handle);
    return event != NULL ? record(green, event) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult client_green_wait(const struct front_green *green, CUevent handle)
{
    struct client_call call;
    struct ga_green_wait_args args = {.green = green->handle};
    CUresult rc = green_enter(&call, API_OP_ga_green_wait, green->primary);
    if (rc == CUDA_SUCCESS) {
        rc = client_event_check(&call, handle, &args.event);
    }
    struct client_event *event = client_object_find(GA_HANDLE_EVENT, (uint64_t)(uintptr_t)handle);
    if (rc == CUDA_SUCCESS && event == NULL) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_post_ga_green_wait(&call, &args);
    }
    return rc == CUDA_SUCCESS ? client_event_settle(&call, event) : rc;
}

/* By an event of its own. */
CUresult client_green_synchronize(const struct front_green *green)
{
    CUevent event;
    CU_TRY(front_context_push(green->primary));
    CUresult rc = cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    if (rc == CUDA_SUCCESS) {
        rc = client_green_record(green, event);
        CUresult waited = rc == CUDA_SUCCESS ? cuEventSynchronize(event) : rc;
        rc = rc == CUDA_SUCCESS ? waited : rc;
        (void)cuEventDestroy_v2(event);
    }
    (void)cuCtxPopCurrent_v2(NULL);
    return rc;
}

CUresult client_green_end(const struct front_green *green)
{
    struct client_call call;
    const struct ga_green_end_args args = {.green = green->handle};
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    uint64_t mark = client_mirrors_mark();
    CUresult rc = CUDA_SUCCESS; /* a connection that is lost has taken it along */
    if (!green->lost && green_enter(&call, API_OP_ga_green_end, green->primary) == CUDA_SUCCESS) {
        rc = client_wait_ga_green_end(&call, &args, true);
        rc = rc == CUDA_SUCCESS ? client_mirrors_after(call.context, MIRROR_ALL, mark) : rc;
    }
    (void)cuDevicePrimaryCtxRelease_v2(green->device);
    return rc;
}

#if CUDA_VERSION >= 12040
static CUresult need(CUgreenCtx handle, struct front_green *green)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS && !front_green_find((CUcontext)(uintptr_t)handle, green)) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    return rc;
}

CUresult CUDAAPI cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct front_green green;
    CU_TRY(need(hCtx, &green));
    return client_green_record(&green, hEvent);
}

CUresult CUDAAPI cuGreenCtxWaitEvent(CUgreenCtx hCtx, CUevent hEvent)
{
    struct front_green green;
    CU_TRY(need(hCtx, &green));
    return client_green_wait(&green, hEvent);
}
#endif

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority)
{
    struct front_green green;
    struct client_stream *stream;
    CU_TRY(front_ready());
    if (phStream == NULL || flags != CU_STREAM_NON_BLOCKING) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(need(greenCtx, &green));
    CU_TRY(client_green_stream(&green, flags, priority, &stream));
    *phStream = (CUstream)(uintptr_t)stream->object.handle;
    return CUDA_SUCCESS;
}
#endif
