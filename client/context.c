/* Contexts: primary and explicit ones. A context is a handle here and a real context in the backend
 * process, which is never reset: its objects go instead. */
#include <stddef.h>
#include <string.h>

#include "api/calls.h"
#include "base/log.h"
#include "client/call.h"
#include "client/state.h"
#include "client/twin.h"
#include "front/front.h"

enum context_kind { KIND_PRIMARY = 0, KIND_EXPLICIT = 1 };

static CUcontext handle_of(const struct client_context *context)
{
    return (CUcontext)(uintptr_t)context->object.handle;
}

/* One way to wait at most. */
static CUresult flags_check(unsigned flags)
{
    unsigned wait = flags & CU_CTX_SCHED_MASK;
    bool wrong = (flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0 || (wait & (wait - 1)) != 0;
    return wrong ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult client_context_find(CUcontext handle, struct client_context **context)
{
    struct client_context *found =
        client_object_find(GA_HANDLE_CONTEXT, (uint64_t)(uintptr_t)handle);
    if (found == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = found;
    return CUDA_SUCCESS;
}

/* Counts contexts that were destroyed: what a thread remembers may be one of them. */
static atomic_uint destroyed;

CUresult client_context_current(struct client_context **context)
{
    static _Thread_local struct client_context *last;
    static _Thread_local CUcontext last_handle;
    static _Thread_local unsigned last_destroyed;
    CUcontext handle;
    CUresult rc = front_context_need(&handle);
    if (atomic_load_explicit(&client_dead, memory_order_relaxed)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct client_context *found = last;
    unsigned now = atomic_load_explicit(&destroyed, memory_order_acquire);
    if (last_handle != handle || last_destroyed != now) {
        if (client_context_find(handle, &found) != CUDA_SUCCESS) {
            return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        }
        last = found;
        last_handle = handle;
        last_destroyed = now;
    }
    if (!atomic_load_explicit(&found->active, memory_order_acquire)) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    *context = found;
    /* NOLINTNEXTLINE: `found` was kept with the handle */
    return (CUresult)atomic_load_explicit(&found->session->link->dead, memory_order_relaxed);
}

CUresult client_ready(void)
{
    return atomic_load_explicit(&client_dead, memory_order_relaxed) ? CUDA_ERROR_NOT_INITIALIZED
                                                                    : front_ready();
}

CUresult client_usable(void)
{
    struct client_context *context;
    return client_context_current(&context);
}

void client_context_late(uint64_t handle, int result, uint16_t opcode)
{
    struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, handle);
    int none = 0;
    bool first = context != NULL && atomic_compare_exchange_strong(&context->late, &none, result);
    ga_log(first ? GA_LOG_WARN : GA_LOG_DEBUG, "%s failed with CUDA error %d after it had returned",
           api_op_name(opcode), result);
}

/* ---- whether there is work */

void client_context_quiet(struct client_context *context, uint64_t sequence)
{
    uint64_t before = atomic_load(&context->quiet);
    while (before < sequence && !atomic_compare_exchange_weak(&context->quiet, &before, sequence)) {
    }
}

bool client_context_idle(const struct client_context *context)
{
    return atomic_load(&context->quiet) == atomic_load(&context->session->link->submitted);
}

/* ---- the server's half. `device->open_lock` is held by all of these. */

void client_context_wish(const struct client_context *context, struct handshake_context *wish)
{
    *wish = (struct handshake_context){
        .handle = context->object.handle,
        .kind = context->primary ? KIND_PRIMARY : KIND_EXPLICIT,
        .flags = context->flags,
        .block_bytes = client_allocator_first_bytes(context->device->granularity_bytes)};
}

static CUresult create_remote(struct client_context *context)
{
    struct client_call call;
    CUresult rc = client_call_enter_in(&call, API_OP_ga_context_create, context);
    struct ga_context_create_args args = {.context = context->object.handle,
                                          .kind = context->primary ? KIND_PRIMARY : KIND_EXPLICIT,
                                          .flags = context->flags};
    call.bare = true;
    if (rc == CUDA_SUCCESS) {
        CLIENT_CALL_SIMPLE(&call, ga_context_create, &args, true, rc);
    }
    return rc;
}

static CUresult end_remote(struct client_context *context, bool destroy)
{
    struct client_call call;
    CUresult rc = client_call_enter_in(
        &call, destroy ? API_OP_ga_context_destroy : API_OP_ga_context_reset, context);
    struct ga_context_destroy_args destroyed = {.context = context->object.handle};
    struct ga_context_reset_args reset = {.context = context->object.handle};
    call.bare = true;
    if (rc != CUDA_SUCCESS) {
        return CUDA_SUCCESS; /* the link is lost, and what was there with it */
    }
    if (destroy) {
        CLIENT_CALL_SIMPLE(&call, ga_context_destroy, &destroyed, true, rc);
    } else {
        CLIENT_CALL_SIMPLE(&call, ga_context_reset, &reset, true, rc);
    }
    return rc;
}

/* The session of the context's device, opened if need be, and the context in it. */
static CUresult activate(struct client_context *context)
{
    struct client_session *session = atomic_load(&context->device->session);
    struct client_first first = {0};
    if (session == NULL) {
        CUresult rc = client_session_open(context, &session, &first);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        client_allocator_mapped(&session->allocator, first.block_bytes, context->object.handle);
        atomic_store(&context->device->session, session);
    }
    if (context->session == NULL) {
        context->session = session;
        CUresult rc = first.made ? first.result : create_remote(context);
        if (rc != CUDA_SUCCESS) {
            context->session = NULL;
            return rc;
        }
    }
    atomic_store(&context->active, true);
    return (CUresult)atomic_load(&session->link->dead);
}

/* Everything that the context has goes here, after it has gone there; libraries stay. */
static void clear(struct client_context *context)
{
    client_twins_forget(context);
    client_memory_forget(context);
    client_objects_drop_all(context);
    context->legacy_attributes = front_stream_attributes_new;
    (void)atomic_exchange(&context->late, 0);
}

/* ---- primary contexts */

static CUresult primary_of(CUdevice ordinal, struct client_context **context)
{
    struct client_device *device;
    CUresult rc = client_device_find(ordinal, &device);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&device->open_lock);
    if (device->primary == NULL) {
        struct client_context *made = client_object_make(GA_HANDLE_CONTEXT, NULL);
        if (made != NULL) {
            made->device = device;
            made->primary = true;
            device->primary = made;
        }
    }
    *context = device->primary;
    pthread_mutex_unlock(&device->open_lock);
    return *context != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult ready_primary(CUdevice dev, struct client_context **context)
{
    CUresult rc = client_ready();
    return rc == CUDA_SUCCESS ? primary_of(dev, context) : rc;
}

CUresult client_primary_handle(CUdevice dev, CUcontext *handle)
{
    struct client_context *context;
    CUresult rc = primary_of(dev, &context);
    if (rc == CUDA_SUCCESS) {
        *handle = handle_of(context);
    }
    return rc;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct client_context *context;
    CUresult rc = ready_primary(dev, &context);
    if (rc == CUDA_SUCCESS && pctx == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&context->device->open_lock);
    rc = activate(context);
    if (rc == CUDA_SUCCESS) {
        context->retained++;
        context->fresh = false;
        *pctx = handle_of(context);
    }
    pthread_mutex_unlock(&context->device->open_lock);
    return rc;
}

static CUresult empty_primary(struct client_context *context)
{
    CUresult rc = end_remote(context, false);
    clear(context);
    return rc;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct client_context *context;
    CUresult rc = ready_primary(dev, &context);
    if (rc != CUDA_SUCCESS || atomic_load(&client_exiting)) {
        return rc;
    }
    bool gone = false;
    pthread_mutex_lock(&context->device->open_lock);
    if (context->retained == 0) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    } else if (--context->retained == 0) {
        gone = true;
        rc = empty_primary(context);
        atomic_store(&context->active, false);
    }
    pthread_mutex_unlock(&context->device->open_lock);
    if (gone) {
        front_context_reset(handle_of(context));
    }
    return rc;
}

/* Who has retained it may go on: the context is empty, as if new. */
CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct client_context *context;
    CUresult rc = ready_primary(dev, &context);
    if (rc != CUDA_SUCCESS || atomic_load(&client_exiting)) {
        return rc;
    }
    pthread_mutex_lock(&context->device->open_lock);
    bool was_active = atomic_load(&context->active);
    if (was_active) {
        rc = empty_primary(context);
        context->fresh = true;
        const struct client_session *session = atomic_load(&context->device->session);
        if (rc == CUDA_SUCCESS && session != NULL) { /* who wants to go on must know of it */
            rc = (CUresult)atomic_load(&session->link->dead);
        }
    }
    pthread_mutex_unlock(&context->device->open_lock);
    if (was_active) {
        client_mempool_reset(dev);
        front_context_reset(handle_of(context));
    }
    return rc;
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct client_context *context;
    CUresult rc = ready_primary(dev, &context);
    if (rc == CUDA_SUCCESS) {
        rc = flags_check(flags);
    }
    if (rc == CUDA_SUCCESS) {
        pthread_mutex_lock(&context->device->open_lock);
        context->flags = flags;
        pthread_mutex_unlock(&context->device->open_lock);
    }
    return rc;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct client_context *context;
    CUresult rc = ready_primary(dev, &context);
    if (rc == CUDA_SUCCESS && (flags == NULL || active == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        pthread_mutex_lock(&context->device->open_lock);
        *flags = context->flags;
        *active = atomic_load(&context->active) && !context->fresh;
        pthread_mutex_unlock(&context->device->open_lock);
    }
    return rc;
}

/* ---- explicit contexts */

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    struct client_device *device;
    CUresult rc = client_ready();
    if (rc == CUDA_SUCCESS) {
        rc = pctx == NULL ? CUDA_ERROR_INVALID_VALUE : flags_check(flags);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_device_find(dev, &device);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct client_context *context = client_object_make(GA_HANDLE_CONTEXT, NULL);
    if (context == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->device = device;
    context->flags = flags;
    pthread_mutex_lock(&device->open_lock);
    rc = activate(context);
    pthread_mutex_unlock(&device->open_lock);
    if (rc == CUDA_SUCCESS) {
        rc = front_context_push(handle_of(context));
    }
    if (rc != CUDA_SUCCESS) {
        client_object_drop(context);
        return rc;
    }
    *pctx = handle_of(context);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                                unsigned int flags, CUdevice dev)
{
    if (numParams != 0) {
        return paramsArray == NULL ? CUDA_ERROR_INVALID_VALUE
                                   : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    return cuCtxCreate_v2(pctx, flags, dev);
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                unsigned int flags, CUdevice dev)
{
    if (ctxCreateParams != NULL && ctxCreateParams->numExecAffinityParams != 0) {
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    if (ctxCreateParams != NULL && ctxCreateParams->cigParams != NULL) {
        return front_unsupported("cuCtxCreate_v4 with cigParams");
    }
    return cuCtxCreate_v2(pctx, flags, dev);
}
#endif

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    struct client_context *context;
    CUresult rc = client_ready();
    if (rc == CUDA_SUCCESS) {
        rc = ctx == NULL ? CUDA_ERROR_INVALID_CONTEXT : client_context_find(ctx, &context);
    }
    if (rc == CUDA_SUCCESS && context->primary) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (rc != CUDA_SUCCESS || atomic_load(&client_exiting)) {
        return rc;
    }
    pthread_mutex_lock(&context->device->open_lock);
    rc = end_remote(context, true);
    clear(context);
    atomic_store(&context->active, false);
    struct client_link *link = context->session->link;
    if (client_link_lock(link, 0) == 0) {
        link->context = link->context == context->object.handle ? 0 : link->context;
        client_link_unlock(link, false);
    }
    pthread_mutex_unlock(&context->device->open_lock);
    front_context_gone(ctx);
    atomic_fetch_add(&destroyed, 1);
    client_object_drop(context);
    return rc;
}

/* ---- the current context */

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    struct client_context *context;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS && flags == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        *flags = context->flags;
    }
    return rc;
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    struct client_context *context;
    CUresult rc = client_context_current(&context);
    if (rc == CUDA_SUCCESS) {
        rc = flags_check(flags);
    }
    if (rc == CUDA_SUCCESS) {
        context->flags = flags;
    }
    return rc;
}

CUresult client_context_synchronize(struct client_context *context)
{
    struct client_call call;
    uint64_t mark = client_twins_mark();
    CUresult rc = client_call_enter_in(&call, API_OP_ga_context_synchronize, context);
    if (rc == CUDA_SUCCESS) {
        rc = client_call_begin(&call, 0);
    }
    if (rc == CUDA_SUCCESS) {
        struct ga_reader reader;
        rc = client_call_wait(&call, &reader);
        client_call_end(&call);
        if (rc == CUDA_SUCCESS) {
            client_context_quiet(context, call.sequence);
            rc = client_twins_after(context, TWIN_ALL, mark);
        }
    }
    return rc;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}

/* NULL means the current context. */
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    struct client_context *context;
    CUresult rc = client_ready();
    if (rc == CUDA_SUCCESS) {
        rc = ctx == NULL ? client_context_current(&context) : client_context_find(ctx, &context);
    }
    if (rc == CUDA_SUCCESS && !atomic_load(&context->active)) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_context_synchronize(context);
        front_mempool_synchronized();
    }
    return rc;
}
