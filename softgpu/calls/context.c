/* SPDX-License-Identifier: Apache-2.0 */
/* Primary and explicit contexts. What is current on a thread is front's business. */
#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/memory/memory.h"
#include "softgpu/process/green.h"
#include "softgpu/timing/clock.h"

static CUresult flags_check(unsigned flags)
{
    unsigned schedule = flags & CU_CTX_SCHED_MASK;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0 || (schedule & (schedule - 1)) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_device *device;
    if (pctx == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    result = sg_call_device(dev, &device);
    if (result == CUDA_SUCCESS) {
        sg_context_settle(device->primary);
    }
    bool made = result == CUDA_SUCCESS && !device->primary->alive;
    if (made) {
        device->primary->flags = device->primary_flags;
        result = sg_context_activate(device->primary);
    }
    if (result == CUDA_SUCCESS) {
        device->primary_retains++;
        *pctx = sg_context_handle(device->primary);
    }
    result = sg_leave(result);
    if (made && result == CUDA_SUCCESS) {
        sg_clock_make_context(device);
    }
    return result;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    CUresult result = sg_enter_teardown();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_device *device;
    result = sg_call_device(dev, &device);
    if (result == CUDA_SUCCESS && device->primary_retains == 0) {
        result = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (result != CUDA_SUCCESS) {
        return sg_leave(result);
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

/* Pools are the device's: other contexts of it may use their memory. */
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

/* The retain count stays; who has retained it goes on with an empty context. */
CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    CUresult result = sg_enter_teardown();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_device *device;
    result = sg_call_device(dev, &device);
    if (result != CUDA_SUCCESS) {
        return sg_leave(result);
    }
    sg_context_settle(device->primary);
    sg_context_destroy(device->primary);
    if (device_quiet(device)) {
        front_mempool_reset(dev);
    }
    if (device->primary_retains != 0 && !device->primary->alive) {
        result = sg_context_activate(device->primary);
    }
    CUcontext handle = sg_context_handle(device->primary);
    (void)sg_leave(CUDA_SUCCESS);
    front_context_reset(handle);
    return result != CUDA_SUCCESS ? result : sg_process_state();
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_device *device;
    result = sg_call_device(dev, &device);
    if (result == CUDA_SUCCESS) {
        result = flags_check(flags);
    }
    if (result == CUDA_SUCCESS) {
        device->primary_flags = flags;
        device->primary->flags = flags;
    }
    return sg_leave(result);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_device *device;
    result =
        flags == NULL || active == NULL ? CUDA_ERROR_INVALID_VALUE : sg_call_device(dev, &device);
    if (result == CUDA_SUCCESS) {
        *flags = device->primary_flags;
        *active = device->primary->alive;
    }
    return sg_leave(result);
}

static CUresult context_create(CUcontext *pctx, unsigned flags, CUdevice dev, unsigned sms)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_device *device;
    struct sg_context *context = NULL;
    result = pctx == NULL ? CUDA_ERROR_INVALID_VALUE : flags_check(flags);
    if (result == CUDA_SUCCESS) {
        result = sg_call_device(dev, &device);
    }
    if (result == CUDA_SUCCESS) {
        result = sg_context_make(device, flags, false, &context);
    }
    if (result == CUDA_SUCCESS) {
        context->sm_limit = sms;
        result = front_context_push(sg_context_handle(context));
        if (result != CUDA_SUCCESS) {
            sg_context_destroy(context);
        } else {
            *pctx = sg_context_handle(context);
        }
    }
    result = sg_leave(result);
    if (result == CUDA_SUCCESS) {
        sg_clock_make_context(device);
    }
    return result;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return context_create(pctx, flags, dev, 0);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
                                unsigned int flags, CUdevice dev)
{
    unsigned sms;
    CUresult result = front_affinity_read(paramsArray, numParams, dev, &sms);
    return result == CUDA_SUCCESS ? context_create(pctx, flags, dev, sms) : result;
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                unsigned int flags, CUdevice dev)
{
    unsigned sms = 0;
    CUresult result = CUDA_SUCCESS;
    if (ctxCreateParams != NULL) {
        result = front_affinity_read(ctxCreateParams->execAffinityParams,
                                     ctxCreateParams->numExecAffinityParams, dev, &sms);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (ctxCreateParams != NULL && ctxCreateParams->cigParams != NULL) {
        return front_unsupported("cuCtxCreate_v4 with cigParams");
    }
    return context_create(pctx, flags, dev, sms);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult result = sg_enter_teardown();
    if (result != CUDA_SUCCESS) {
        return result;
    }
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
    CUresult result = sg_enter(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (flags == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *flags = context->flags;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
    struct sg_context *context;
    CUresult result = sg_enter(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = flags_check(flags);
    if (result == CUDA_SUCCESS) {
        context->flags = flags;
    }
    return sg_leave(result);
}

/* Of a green context, only its own work. Leaves. */
static CUresult synchronize(struct sg_context *context, CUcontext handle)
{
    struct sg_green *green = sg_green_of(handle);
    CUresult result = sg_leave(green != NULL ? sg_green_wait(green) : sg_context_wait(context));
    front_mempool_synchronized();
    return result;
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
    if (ctx == NULL) {
        return cuCtxSynchronize();
    }
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    struct sg_context *context = sg_context_find(ctx);
    if (context == NULL || !context->alive) {
        return sg_leave(CUDA_ERROR_INVALID_CONTEXT);
    }
    return synchronize(context, ctx);
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    struct sg_context *context;
    CUresult result = sg_enter(&context);
    return result == CUDA_SUCCESS ? synchronize(context, front_context_current()) : result;
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    struct sg_context *context;
    CUresult result = sg_enter(&context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
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
    CUresult result = sg_enter(context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    *owner = sg_context_find(peer);
    bool wrong = *owner == NULL || !(*owner)->alive || *owner == *context;
    return wrong ? sg_leave(CUDA_ERROR_INVALID_CONTEXT) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    struct sg_context *context, *owner;
    CUresult result = peer_enter(peerContext, &context, &owner);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    return sg_leave(Flags != 0 ? CUDA_ERROR_INVALID_VALUE : sg_peer_enable(context, owner));
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peerContext)
{
    struct sg_context *context, *owner;
    CUresult result = peer_enter(peerContext, &context, &owner);
    return result == CUDA_SUCCESS ? sg_leave(sg_peer_disable(context, owner)) : result;
}
