/* SPDX-License-Identifier: Apache-2.0 */
/* Streams. */
#include "softgpu/calls/stream.h"

#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/streams.h"
#include "softgpu/stream/values.h"
#include "softgpu/stream/waits.h"

CUresult sg_call_stream_make(struct sg_context *context, struct sg_green *green, unsigned flags,
                             int priority, CUstream *handle)
{
    struct sg_stream *stream = NULL;
    CU_TRY(sg_stream_make_in(context, green, flags, priority, &stream));
    if (ga_handle_table_make(&sg_process.streams, stream, &stream->handle) != GA_OK) {
        stream->handle = 0;
        sg_stream_destroy(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = (CUstream)(uintptr_t)stream->handle;
    return CUDA_SUCCESS;
}

static CUresult call_stream_create(CUstream *phStream, unsigned flags, int priority)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if (phStream == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    return sg_leave(
        sg_call_stream_make(context, sg_green_current(context), flags, priority, phStream));
}

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return call_stream_create(phStream, Flags, 0);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    return call_stream_create(phStream, flags, priority);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream)
{
    CU_TRY(sg_enter_teardown());
    struct sg_stream *stream =
        ga_handle_table_find(&sg_process.streams, (uint64_t)(uintptr_t)hStream);
    if (stream == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (stream->green != NULL && stream->green->dead) {
        return sg_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    sg_stream_destroy(stream);
    return sg_leave(sg_process_state());
}

/* sg_enter_stream, for a call with the output *out. */
static CUresult stream_enter(CUstream handle, const void *out, struct sg_stream **stream)
{
    CUresult rc = sg_process_state();
    if (rc == CUDA_SUCCESS && out == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? sg_enter_stream(handle, stream) : rc;
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority)
{
    struct sg_stream *stream;
    CU_TRY(stream_enter(hStream, priority, &stream));
    *priority = stream->attributes.priority;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      const CUstreamAttrValue *value)
{
    struct sg_stream *stream;
    CUresult rc = stream_enter(hStream, value, &stream);
    return rc != CUDA_SUCCESS
               ? rc
               : sg_leave(front_stream_attribute_set(&stream->attributes, attr, value,
                                                     SG_PRIORITY_MIN, SG_PRIORITY_GREATEST));
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      CUstreamAttrValue *value_out)
{
    struct sg_stream *stream;
    CUresult rc = stream_enter(hStream, value_out, &stream);
    return rc != CUDA_SUCCESS
               ? rc
               : sg_leave(front_stream_attribute_get(&stream->attributes, attr, value_out));
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream dst, CUstream src)
{
    struct sg_context *context;
    struct sg_stream *to, *from;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_call_stream(context, src, &from);
    if (rc == CUDA_SUCCESS) {
        rc = sg_call_stream(context, dst, &to);
    }
    if (rc == CUDA_SUCCESS && to->context != from->context) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        to->attributes = from->attributes;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    struct sg_stream *stream;
    CU_TRY(stream_enter(hStream, flags, &stream));
    *flags = stream->flags;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
    struct sg_stream *stream;
    CU_TRY(stream_enter(hStream, streamId, &stream));
    *streamId = stream->id;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct sg_stream *stream;
    CU_TRY(stream_enter(hStream, pctx, &stream));
    *pctx = sg_stream_context(stream);
    if (stream->green != NULL) {
        front_green_convert(*pctx);
    }
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
    struct sg_stream *stream;
    CU_TRY(stream_enter(hStream, device, &stream));
    *device = (CUdevice)stream->context->device->ordinal;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    struct sg_stream *stream;
    CUresult rc = sg_enter_stream(hStream, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_event *event;
    rc = sg_call_event(hEvent, &event);
    /* CU_EVENT_WAIT_EXTERNAL has a meaning only during capture. */
    if (rc == CUDA_SUCCESS && Flags != CU_EVENT_WAIT_DEFAULT) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && event->mark != NULL) {
        rc = sg_submit_wait_mark(stream, event->mark);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    struct sg_stream *stream;
    CU_TRY(sg_enter_stream(hStream, &stream));
    bool passed = sg_stream_passed(stream, sg_process.sequence);
    return sg_leave(passed ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    struct sg_stream *stream;
    CUresult rc = sg_enter_stream(hStream, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = sg_leave(sg_stream_wait(stream));
        front_mempool_synchronized();
    }
    return rc;
}

static struct sg_value call_stream_value(const struct front_value *value)
{
    return (struct sg_value){.address = value->address,
                             .value = value->value,
                             .bytes = value->bytes,
                             .write = value->write,
                             .wait = value->wait};
}

CUresult sg_call_stream_values(CUstream handle, const struct front_value *values, unsigned count)
{
    struct sg_stream *stream;
    CUresult rc = sg_enter_stream(handle, &stream);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    for (unsigned i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        const struct sg_value value = call_stream_value(&values[i]);
        rc = sg_value_check(&value);
    }
    for (unsigned i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        const struct sg_value value = call_stream_value(&values[i]);
        rc = sg_submit_value(stream, &value);
    }
    return sg_leave(rc);
}
