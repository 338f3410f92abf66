/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call/event_call.h"

#include "client/call/call.h"
#include "client/context/event.h"

CUresult client_event_check(struct client_call *call, CUevent handle, uint64_t *wire)
{
    const struct client_object *object =
        client_object_find(GA_HANDLE_EVENT, (uint64_t)(uintptr_t)handle);
    struct client_context *context = object != NULL ? object->context : NULL;
    if (context == NULL) { /* or another thread destroys it just now */
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *wire = object->handle;
    return client_call_route(call, context);
}

CUresult client_event_make(struct client_call *call, bool shared, uint64_t *wire)
{
    struct client_event *event = client_object_make(GA_HANDLE_EVENT, call->context);
    if (event == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->shared = shared;
    *wire = event->object.handle;
    return CUDA_SUCCESS;
}
