/* SPDX-License-Identifier: Apache-2.0 */
/* Primary and explicit contexts. front/ keeps the current context of each thread. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/lifetime/context_lifetime.h"
#include "softgpu/memory/peer_access.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/green.h"
#include "softgpu/stream/streams.h"
#include "softgpu/stream/waits.h"

static CUresult call_context_flags_check(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0 || (schedule & (schedule - 1)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    if (pctx == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = sg_call_device(dev, &device);
    if (rc == CUDA_SUCCESS) {
        sg_context_settle(device->primary);
    }
    bool made = rc == CUDA_SUCCESS && !device->primary->alive;
    if (made) {
        device->primary->flags = device->primary_flags;
        rc = sg_context_activate(device->primary);
    }
    if (rc == CUDA_SUCCESS) {
        device->primary_retains++;
        *pctx = sg_context_handle(device->primary);
    }
    rc = sg_leave(rc);
    if (made && rc == CUDA_SUCCESS) {
        sg_clock_make_context(device);
    }
    return rc;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    CUresult rc = sg_enter_teardown();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    rc = sg_call_device(dev, &device);
    if (rc == CUDA_SUCCESS && device->primary_retains == 0) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (rc != CUDA_SUCCESS) {
        return sg_leave(rc);
    }
    bool last = --device->primary_retains == 0;
    if (last) {
        sg_context_destroy(device->primary);
    }
    CUcontext handle = sg_context_handle(device->primary);
    (void)sg_leave(CUDA_SUCCESS);
    if (last) {
        front_context_reset(handle);
    }
    return CUDA_SUCCESS;
}

/* Pools belong to the device: its other contexts may use their memory. */
static bool device_quiet(const struct sg_device *device)
{
    bool quiet = true;
    uint32_t index = 0;
    uint64_t handle;
    struct sg_context *context;
    while (quiet &&
           (context = ga_handle_table_next(&sg_process.contexts, &index, &handle)) != NULL) {
        quiet = context->device != device || sg_context_quiet(context);
    }
    return quiet;
}

/* The retain count stays; its holders continue with an empty context. */
CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    CUresult rc = sg_enter_teardown();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    rc = sg_call_device(dev, &device);
    if (rc != CUDA_SUCCESS) {
        return sg_leave(rc);
    }
    sg_context_settle(device->primary);
    sg_context_destroy(device->primary);
    if (device_quiet(device)) {
        front_mempool_reset(dev);
    }
    if (device->primary_retains != 0 && !device->primary->alive) {
        rc = sg_context_activate(device->primary);
    }
    CUcontext handle = sg_context_handle(device->primary);
    (void)sg_leave(CUDA_SUCCESS);
    front_context_reset(handle);
    return rc != CUDA_SUCCESS ? rc : sg_process_state();
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    rc = sg_call_device(dev, &device);
    if (rc == CUDA_SUCCESS) {
        rc = call_context_flags_check(flags);
    }
    if (rc == CUDA_SUCCESS) {
        device->primary_flags = flags;
        device->primary->flags = flags;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    rc = flags == NULL || active == NULL ? CUDA_ERROR_INVALID_VALUE : sg_call_device(dev, &device);
    if (rc == CUDA_SUCCESS) {
        *flags = device->primary_flags;
        *active = device->primary->alive;
    }
    return sg_leave(rc);
}

static CUresult context_create(CUcontext *pctx, unsigned flags, CUdevice dev, unsigned sms)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_device *device;
    struct sg_context *context = NULL;
    rc = pctx == NULL ? CUDA_ERROR_INVALID_VALUE : call_context_flags_check(flags);
    if (rc == CUDA_SUCCESS) {
        rc = sg_call_device(dev, &device);
    }
    if (rc == CUDA_SUCCESS) {
        rc = sg_context_make(device, flags, false, &context);
    }
    if (rc == CUDA_SUCCESS) {
        context->sm_limit = sms;
        rc = front_context_push(sg_context_handle(context));
        if (rc != CUDA_SUCCESS) {
            sg_context_destroy(context);
        } else {
            *pctx = sg_context_handle(context);
        }
    }
    rc = sg_leave(rc);
    if (rc == CUDA_SUCCESS) {
        sg_clock_make_context(device);
    }
    return rc;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return context_create(pctx, flags, dev, 0);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                                unsigned int flags, CUdevice dev)
{
    unsigned sms;
    CUresult rc = front_affinity_read(paramsArray, numParams, dev, &sms);
    return rc == CUDA_SUCCESS ? context_create(pctx, flags, dev, sms) : rc;
}

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

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    CU_TRY(sg_enter_teardown());
    struct sg_context *context = sg_context_find(ctx);
    if (context == NULL || context->primary || !context->alive) {
        return sg_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    sg_context_destroy(context);
    (void)sg_leave(CUDA_SUCCESS);
    front_context_gone(ctx);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetFlags(unsigned int *flags)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if (flags == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *flags = context->flags;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = call_context_flags_check(flags);
    if (rc == CUDA_SUCCESS) {
        context->flags = flags;
    }
    return sg_leave(rc);
}

/* For a green context, waits for its own work only. Leaves. */
static CUresult call_context_synchronize(struct sg_context *context, CUcontext handle)
{
    struct sg_green *green = sg_green_of(handle);
    CUresult rc = sg_leave(green != NULL ? sg_green_wait(green) : sg_context_wait(context));
    front_mempool_synchronized();
    return rc;
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    if (ctx == NULL) {
        return cuCtxSynchronize();
    }
    CU_TRY(sg_enter_process());
    struct sg_context *context = sg_context_find(ctx);
    if (context == NULL || !context->alive) {
        return sg_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    return call_context_synchronize(context, ctx);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    return rc == CUDA_SUCCESS ? call_context_synchronize(context, front_context_current()) : rc;
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if (leastPriority != NULL) {
        *leastPriority = SG_PRIORITY_MIN;
    }
    if (greatestPriority != NULL) {
        *greatestPriority = SG_PRIORITY_GREATEST;
    }
    return sg_leave(CUDA_SUCCESS);
}

/* Enters; the lock is held on success. */
static CUresult peer_enter(CUcontext peer, struct sg_context **context, struct sg_context **owner)
{
    CU_TRY(sg_enter(context));
    *owner = sg_context_find(peer);
    bool wrong = *owner == NULL || !(*owner)->alive || *owner == *context;
    return wrong ? sg_leave(CUDA_ERROR_INVALID_CONTEXT) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    struct sg_context *context, *owner;
    CU_TRY(peer_enter(peerContext, &context, &owner));
    return sg_leave(Flags != 0 ? CUDA_ERROR_INVALID_VALUE : sg_peer_enable(context, owner));
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peerContext)
{
    struct sg_context *context, *owner;
    CUresult rc = peer_enter(peerContext, &context, &owner);
    return rc == CUDA_SUCCESS ? sg_leave(sg_peer_disable(context, owner)) : rc;
}
