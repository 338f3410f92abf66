/* SPDX-License-Identifier: Apache-2.0 */
/* The server's half of a context: made, emptied, ended. */
#include "client/stream/context_remote.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/address/address_map.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/device_free.h"
#include "client/memory/mirror.h"
#include "client/session/session.h"
#include "front/front.h"

/* The message that makes the context together with a session. */
static struct handshake_context wish_of(const struct client_context *context)
{
    return (struct handshake_context){
        .handle = context->object.handle,
        .kind = context->primary ? API_CONTEXT_PRIMARY : API_CONTEXT_EXPLICIT,
        .flags = context->flags,
        .block_bytes = client_allocator_first_bytes(context->device->granularity_bytes)};
}

static CUresult create_remote_part(struct client_context *context)
{
    struct client_call call;
    struct ga_context_create_part_results results;
    CUresult rc = client_call_enter_in(&call, API_OP_ga_context_create_part, context);
    const struct ga_context_create_part_args args = {
        .context = context->object.handle, .flags = context->flags, .sms = context->sms};
    call.bare = true;
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_context_create_part(&call, &args, true, &results);
    }
    if (rc == CUDA_SUCCESS) {
        context->sms = results.given;
    }
    return rc;
}

static CUresult create_remote(struct client_context *context)
{
    struct client_call call;
    if (context->sms != 0) {
        return create_remote_part(context);
    }
    CUresult rc = client_call_enter_in(&call, API_OP_ga_context_create, context);
    struct ga_context_create_args args = {.context = context->object.handle,
                                          .kind = context->primary ? API_CONTEXT_PRIMARY
                                                                   : API_CONTEXT_EXPLICIT,
                                          .flags = context->flags};
    call.bare = true;
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_context_create(&call, &args, true);
    }
    return rc;
}

CUresult client_context_end(struct client_context *context, bool destroy)
{
    struct client_call call;
    if (atomic_load(&context->session->reached)) {
        client_memory_settle(context); /* the server waits for the context's own work */
    }
    CUresult rc = client_call_enter_in(
        &call, destroy ? API_OP_ga_context_destroy : API_OP_ga_context_reset, context);
    struct ga_context_destroy_args destroyed = {.context = context->object.handle};
    struct ga_context_reset_args reset = {.context = context->object.handle};
    call.bare = true;
    if (rc != CUDA_SUCCESS) {
        return CUDA_SUCCESS; /* the connection is lost, and what was there with it */
    }
    if (destroy) {
        rc = client_wait_ga_context_destroy(&call, &destroyed, true);
    } else {
        rc = client_wait_ga_context_reset(&call, &reset, true);
    }
    return rc;
}

CUresult client_context_activate(struct client_context *context)
{
    static atomic_bool another; /* context has been used before */
    struct client_session *session = atomic_load(&context->device->session);
    struct client_first first = {0};
    if (session == NULL) {
        const struct handshake_context wish = wish_of(context);
        CUresult rc = client_session_open(context->device, &wish, &session, &first);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        client_allocator_mapped(&session->allocator, first.block_bytes, context->object.handle);
        if (session->window_bytes != 0) {
            client_address_window(session, session->window_base, session->window_bytes);
        }
        atomic_store(&context->device->session, session);
    }
    if (context->session == NULL) {
        context->session = session;
        if (atomic_exchange(&another, true)) {
            client_copy_expose(NULL);
        }
        CUresult rc = first.made ? first.result : create_remote(context);
        for (unsigned step = 0;
             rc == CUDA_ERROR_OUT_OF_MEMORY && client_memory_reclaim(session, step); step++) {
            rc = create_remote(context); /* contexts are memory of the GPU, too */
        }
        if (rc != CUDA_SUCCESS) {
            context->session = NULL;
            return rc;
        }
        /* The context need not wait for anything that has been sent up to now. */
        client_context_quiet(context, client_conn_submitted(client_session_conn(session)));
    }
    atomic_store(&context->active, true);
    return (CUresult)client_conn_dead(client_session_conn(session));
}

void client_context_clear(struct client_context *context)
{
    front_green_lose((CUcontext)(uintptr_t)context->object.handle);
    client_mirrors_forget(context);
    client_memory_forget(context);
    client_objects_drop_all(context);
    client_copy_forget(context);
    context->legacy_attributes = front_stream_attributes_new;
    (void)atomic_exchange(&context->late, 0);
}
