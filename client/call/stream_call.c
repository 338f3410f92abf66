/* SPDX-License-Identifier: Apache-2.0 */
/* Handle 0 and 1 mean the context's legacy stream; handle 2 means a stream that the client makes
 * for each thread and context. */
#include "client/call/stream_call.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/mark.h"
#include "client/context/stream.h"
#include "client/process/process.h"
#include "client/session/server_devices.h"
#include "front/front.h"

/* ---- making */

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
    client_stream_announce(context, flags);
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

CUresult client_green_stream(const struct front_green *green, unsigned flags, int priority,
                             struct client_stream **out)
{
    struct client_call call;
    struct client_context *context;
    CUresult rc = client_context_find(green->primary, &context);
    if (rc == CUDA_SUCCESS && !atomic_load(&context->active)) {
        rc = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_call_enter_in(&call, API_OP_ga_green_stream, context);
    }
    struct client_stream *stream =
        rc == CUDA_SUCCESS ? client_object_make(GA_HANDLE_STREAM, call.context) : NULL;
    if (stream == NULL) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
    }
    const struct client_device *device = call.context->device;
    CUstreamAttrValue wanted = {.priority = priority};
    stream->green = green->handle;
    stream->flags = flags;
    (void)front_stream_attribute_set(&stream->attributes, CU_LAUNCH_ATTRIBUTE_PRIORITY, &wanted,
                                     device->priority_least, device->priority_greatest);
    const struct ga_green_stream_args args = {.green = green->handle,
                                              .stream = stream->object.handle,
                                              .flags = flags,
                                              .priority = stream->attributes.priority};
    rc = client_call_begin(&call, ga_green_stream_args_bound(&args));
    if (rc != CUDA_SUCCESS) {
        client_object_drop(stream);
        return rc;
    }
    ga_green_stream_args_write(&call.writer, &args);
    *out = stream;
    return client_call_post(&call);
}

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
    CU_TRY(is_green ? client_green_stream(&green, CU_STREAM_DEFAULT, 0, out)
                    : client_stream_make(context, CU_STREAM_DEFAULT, out));
    at->stream = (*out)->object.handle;
    return CUDA_SUCCESS;
}

/* ---- what calls name */

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

/* A stream that is only a name is one of the current context. */
static bool is_name(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

CUresult client_stream_check(struct client_call *call, CUstream handle, uint64_t *wire)
{
    struct client_stream *stream = NULL;
    if (call->context == NULL && is_name(handle)) {
        return call->missing;
    }
    CUresult rc = client_stream_find(call->context, handle, &stream, wire);
    if (rc == CUDA_SUCCESS && stream != NULL) {
        rc = client_call_route(call, stream->object.context);
        call->stream = stream->object.handle;
    } else if (rc == CUDA_SUCCESS) {
        call->routed = true;
        call->stream = call->context->object.handle;
    }
    return rc;
}

CUresult client_stream_check_made(struct client_call *call, CUstream handle, uint64_t *wire)
{
    return is_name(handle) ? CUDA_ERROR_INVALID_HANDLE : client_stream_check(call, handle, wire);
}

/* ---- waiting and asking */

void client_stream_waited(const struct client_call *call, uint64_t stream)
{
    client_stream_reached(call->context, client_stream_known(stream),
                          client_mark_of(call->conn, call->sequence));
}

CUresult client_stream_wait(struct client_call *call, uint64_t stream)
{
    const struct ga_stream_synchronize_args args = {.stream = stream};
    if (client_stream_idle(call->context, client_stream_known(stream))) {
        return client_context_told(call->context);
    }
    call->op = API_OP_ga_stream_synchronize;
    CU_TRY(client_wait_ga_stream_synchronize(call, &args, false));
    client_stream_waited(call, stream);
    return CUDA_SUCCESS;
}

void client_stream_ask(struct client_context *context, uint64_t stream)
{
    struct client_call call;
    const struct ga_stream_query_args args = {.stream = stream};
    CUresult rc = client_call_enter_in(&call, API_OP_ga_stream_query, context);
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_stream_query(&call, &args, true);
    }
    if (rc == CUDA_SUCCESS) {
        client_stream_waited(&call, stream);
    }
}
