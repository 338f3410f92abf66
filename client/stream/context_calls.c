/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: primary and explicit ones. A context is a handle here and a real context in the backend
 * process, which is never reset: its objects go instead. */
#include <stddef.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "base/log.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/context_wait.h"
#include "client/memory/device_free.h"
#include "client/memory/mempool.h"
#include "client/memory/mirror.h"
#include "client/process/process.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"
#include "client/stream/context_remote.h"
#include "client/stream/green_context.h"
#include "front/front.h"

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

/* ---- primary contexts */

static CUresult ready_primary(CUdevice dev, struct client_context **context)
{
    CU_TRY(front_ready());
    return client_primary_context(dev, context);
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct client_context *context;
    CU_TRY(ready_primary(dev, &context));
    if (pctx == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&context->device->open_lock);
    CUresult rc = client_context_activate(context);
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
    CUresult rc = client_context_end(context, false);
    client_context_clear(context);
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

/* Holders of the primary context may go on using it: it is empty, as if new. */
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
        if (rc == CUDA_SUCCESS && session != NULL) { /* calls that go on must know of it */
            rc = (CUresult)client_conn_dead(client_session_conn(session));
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
    CU_TRY(ready_primary(dev, &context));
    CU_TRY(flags_check(flags));
    pthread_mutex_lock(&context->device->open_lock);
    context->flags = flags;
    pthread_mutex_unlock(&context->device->open_lock);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct client_context *context;
    CU_TRY(ready_primary(dev, &context));
    if (flags == NULL || active == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&context->device->open_lock);
    *flags = context->flags;
    *active = atomic_load(&context->active) && !context->fresh;
    pthread_mutex_unlock(&context->device->open_lock);
    return CUDA_SUCCESS;
}

/* ---- explicit contexts */

/* `sms`: multiprocessors that its kernels may use; 0: all. */
static CUresult context_create(CUcontext *pctx, unsigned flags, CUdevice dev, unsigned sms)
{
    struct client_device *device;
    struct client_session *session;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = pctx == NULL ? CUDA_ERROR_INVALID_VALUE : flags_check(flags);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_device_find(dev, &device);
    }
    if (rc == CUDA_SUCCESS && sms != 0) { /* what comes with a session has all */
        rc = client_session_need(dev, &session);
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
    context->sms = sms;
    pthread_mutex_lock(&device->open_lock);
    rc = client_context_activate(context);
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

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return context_create(pctx, flags, dev, 0);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                                unsigned int flags, CUdevice dev)
{
    unsigned sms;
    CU_TRY(front_affinity_read(paramsArray, numParams, dev, &sms));
    return context_create(pctx, flags, dev, sms);
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                unsigned int flags, CUdevice dev)
{
    unsigned sms = 0;
    CUresult rc = CUDA_SUCCESS;
    if (ctxCreateParams != NULL) {
        rc = front_affinity_read(ctxCreateParams->execAffinityParams,
                                 ctxCreateParams->numExecAffinityParams, dev, &sms);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (ctxCreateParams != NULL && ctxCreateParams->cigParams != NULL) {
        return front_unsupported("cuCtxCreate_v4 with cigParams");
    }
    return context_create(pctx, flags, dev, sms);
}
#endif

CUresult CUDAAPI cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
    struct client_context *context;
    CUresult rc = client_context_current(&context);
    int all = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    if (rc == CUDA_SUCCESS) {
        all = context->device->attributes[all];
        rc = front_affinity_tell(pExecAffinity, type,
                                 context->sms != 0 ? context->sms : (unsigned)all);
    }
    return rc;
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    struct client_context *context;
    CU_TRY(front_ready());
    CU_TRY(ctx == NULL ? CUDA_ERROR_INVALID_CONTEXT : client_context_find(ctx, &context));
    if (context->primary) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (atomic_load(&client_exiting)) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&context->device->open_lock);
    CUresult rc = client_context_end(context, true);
    client_context_clear(context);
    atomic_store(&context->active, false);
    struct client_conn *conn = client_session_conn(context->session);
    client_conn_context_gone(conn, context->object.handle);
    pthread_mutex_unlock(&context->device->open_lock);
    front_context_gone(ctx);
    client_context_drop(context);
    return rc;
}

/* ---- the current context */

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    if (flags == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = context->flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    struct client_context *context;
    CU_TRY(client_context_current(&context));
    CU_TRY(flags_check(flags));
    context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}

/* NULL means the current context. */
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    struct client_context *context;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = ctx == NULL ? client_context_current(&context) : client_context_find(ctx, &context);
    }
    if (rc == CUDA_SUCCESS && !atomic_load(&context->active)) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    struct front_green green;
    if (rc == CUDA_SUCCESS &&
        (ctx != NULL ? front_green_context(ctx, &green) : front_green_current(&green))) {
        rc = client_green_synchronize(&green); /* only its own work */
        front_mempool_synchronized();
    } else if (rc == CUDA_SUCCESS) {
        rc = client_context_synchronize(context);
        front_mempool_synchronized();
    }
    return rc;
}

/* ---- limits */

/* A greater one may need memory of the GPU. */
CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct client_call call;
    const struct cuCtxSetLimit_args args = {.limit = (uint32_t)limit, .value = value};
    CU_TRY(client_call_enter(&call, API_OP_cuCtxSetLimit));
    const struct client_session *session = call.context->session;
    CUresult rc = client_wait_cuCtxSetLimit(&call, &args, false);
    for (unsigned step = 0; rc == CUDA_ERROR_OUT_OF_MEMORY && client_memory_reclaim(session, step);
         step++) {
        CU_TRY(client_call_enter(&call, API_OP_cuCtxSetLimit));
        rc = client_wait_cuCtxSetLimit(&call, &args, false);
    }
    return rc;
}
