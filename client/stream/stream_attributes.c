/* SPDX-License-Identifier: Apache-2.0 */
/* Making streams, and what is kept of them here: flags, priority and attributes are answered
 * without asking. The server needs only the priority. */
#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/session/server_devices.h"

static struct front_stream_attributes *attributes_of(const struct client_call *call,
                                                     struct client_stream *stream)
{
    return stream != NULL ? &stream->attributes : &call->context->legacy_attributes;
}

/* Enters, and finds the stream, NULL for the legacy one. */
static CUresult stream_attributes_enter(struct client_call *call, CUstream handle,
                                        struct client_stream **stream, uint64_t *wire)
{
    CU_TRY(client_call_enter_handle(call, API_OP_ga_stream_priority));
    CU_TRY(client_stream_check(call, handle, wire));
    return client_stream_find(call->context, handle, stream, wire);
}

/* ---- making */

static CUresult stream_create_as(CUstream *out, unsigned flags, int priority)
{
    struct client_call call;
    CUresult rc = client_call_enter(&call, API_OP_cuStreamCreateWithPriority);
    if (rc == CUDA_SUCCESS && (out == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    struct front_green green;
    struct client_stream *stream;
    if (rc == CUDA_SUCCESS && front_green_current(&green)) {
        rc = client_green_stream(&green, flags, priority, &stream);
        if (rc == CUDA_SUCCESS) {
            *out = (CUstream)(uintptr_t)stream->object.handle;
        }
        return rc;
    }
    if (rc == CUDA_SUCCESS && flags == CU_STREAM_NON_BLOCKING) {
        client_stream_announce(call.context, flags);
        client_copy_expose(call.context);
    }
    stream = rc == CUDA_SUCCESS ? client_object_make(GA_HANDLE_STREAM, call.context) : NULL;
    if (stream == NULL) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
    }
    const struct client_device *device = call.context->device;
    CUstreamAttrValue wanted = {.priority = priority};
    stream->flags = flags;
    (void)front_stream_attribute_set(&stream->attributes, CU_LAUNCH_ATTRIBUTE_PRIORITY, &wanted,
                                     device->priority_least, device->priority_greatest);
    struct cuStreamCreateWithPriority_args args = {
        .phStream = stream->object.handle, .flags = flags, .priority = stream->attributes.priority};
    rc = client_post_cuStreamCreateWithPriority(&call, &args);
    if (rc != CUDA_SUCCESS) {
        client_object_drop(stream);
        return rc;
    }
    *out = (CUstream)(uintptr_t)stream->object.handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    return stream_create_as(phStream, Flags, 0);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
    return stream_create_as(phStream, flags, priority);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    if (leastPriority != NULL) {
        *leastPriority = context->device->priority_least;
    }
    if (greatestPriority != NULL) {
        *greatestPriority = context->device->priority_greatest;
    }
    return CUDA_SUCCESS;
}

/* ---- asking */

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
    struct client_call call;
    struct client_stream *stream;
    uint64_t wire;
    CU_TRY(stream_attributes_enter(&call, hStream, &stream, &wire));
    if (flags == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = stream != NULL ? stream->flags : CU_STREAM_DEFAULT;
    return CUDA_SUCCESS;
}

static CUresult get(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    struct client_call call;
    struct client_stream *stream;
    uint64_t wire;
    CUresult rc = stream_attributes_enter(&call, handle, &stream, &wire);
    if (rc == CUDA_SUCCESS) {
        pthread_mutex_lock(&client_state_lock);
        rc = front_stream_attribute_get(attributes_of(&call, stream), attribute, value);
        pthread_mutex_unlock(&client_state_lock);
    }
    return rc;
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority)
{
    CUstreamAttrValue value;
    CU_TRY(get(hStream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    if (priority == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *priority = value.priority;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      CUstreamAttrValue *value_out)
{
    return get(hStream, attr, value_out);
}

/* ---- setting */

static CUresult send_priority(struct client_call *call, uint64_t wire, int priority)
{
    struct ga_stream_priority_args args = {.stream = wire, .priority = priority};
    return client_post_ga_stream_priority(call, &args);
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      const CUstreamAttrValue *value)
{
    struct client_call call;
    struct client_stream *stream;
    uint64_t wire;
    int priority = 0;
    CUresult rc = stream_attributes_enter(&call, hStream, &stream, &wire);
    if (rc == CUDA_SUCCESS) {
        const struct client_device *device = call.context->device;
        struct front_stream_attributes *kept = attributes_of(&call, stream);
        pthread_mutex_lock(&client_state_lock);
        rc = front_stream_attribute_set(kept, attr, value, device->priority_least,
                                        device->priority_greatest);
        priority = kept->priority;
        pthread_mutex_unlock(&client_state_lock);
    }
    return rc == CUDA_SUCCESS && (int)attr == CU_LAUNCH_ATTRIBUTE_PRIORITY
               ? send_priority(&call, wire, priority)
               : rc;
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream dst, CUstream src)
{
    struct client_call from, to;
    struct client_stream *from_stream, *to_stream;
    struct front_stream_attributes attributes;
    uint64_t from_wire, to_wire;
    CU_TRY(client_usable());
    CU_TRY(stream_attributes_enter(&from, src, &from_stream, &from_wire));
    CU_TRY(stream_attributes_enter(&to, dst, &to_stream, &to_wire));
    if (from.context != to.context) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&client_state_lock);
    attributes = *attributes_of(&from, from_stream);
    *attributes_of(&to, to_stream) = attributes;
    pthread_mutex_unlock(&client_state_lock);
    return send_priority(&to, to_wire, attributes.priority);
}
