/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about green contexts that the table alone answers. */
#include <stdlib.h>

#include "front/front.h"

#if CUDA_VERSION >= 12040

static CUresult green_usable(void)
{
    CUresult rc = front_ready();
    return rc == CUDA_SUCCESS ? front_host.process_state() : rc;
}

static CUcontext name(CUgreenCtx handle)
{
    return (CUcontext)(uintptr_t)handle;
}

/* Checks that front_ready holds and that the handle is a green context. */
static CUresult green_need(CUgreenCtx handle, const void *out, struct front_green *green)
{
    CUresult rc = green_usable();
    if (rc == CUDA_SUCCESS && out == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && !front_green_find(name(handle), green)) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    return rc;
}

CUresult CUDAAPI cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
                                  unsigned int flags)
{
    struct front_device facts;
    struct front_partition part;
    CUdevice device;
    CUresult rc = green_usable();
    if (rc == CUDA_SUCCESS && (phCtx == NULL || flags != CU_GREEN_CTX_DEFAULT_STREAM)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.device(dev, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_partition_of(desc, &device, &part);
    }
    if (rc == CUDA_SUCCESS && device != dev) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_green *green = calloc(1, sizeof *green);
    if (green == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    green->device = dev;
    green->part = part;
    green->sms = front_partition_sms(dev, &part);
    rc = front_green_enter(green);
    if (rc == CUDA_SUCCESS) {
        *phCtx = (CUgreenCtx)(uintptr_t)green->handle;
    } else {
        free(green);
    }
    return rc;
}

CUresult CUDAAPI cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_green *green = front_green_remove(name(hCtx));
    if (green == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    rc = front_host.green_end(green);
    front_context_gone(name(hCtx));
    free(green);
    return rc;
}

CUresult CUDAAPI cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
    struct front_green green;
    CUresult rc = green_need(hCtx, pContext, &green);
    if (rc == CUDA_SUCCESS) {
        front_green_convert(name(hCtx));
        *pContext = name(hCtx);
    }
    return rc;
}

#if CUDA_VERSION >= 12090
/* NULL: the current green context. */
CUresult CUDAAPI cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long *greenCtxId)
{
    struct front_green green;
    CUcontext handle = greenCtx != NULL ? name(greenCtx) : front_context_current();
    CUresult rc = green_need((CUgreenCtx)(uintptr_t)handle, greenCtxId, &green);
    if (rc == CUDA_SUCCESS) {
        *greenCtxId = green.id;
    }
    return rc;
}
#endif

CUresult CUDAAPI cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource *resource,
                                          CUdevResourceType type)
{
    struct front_green green;
    CUresult rc = green_need(hCtx, resource, &green);
    return rc == CUDA_SUCCESS ? front_partition_tell(green.device, &green.part, type, resource)
                              : rc;
}

CUresult CUDAAPI cuCtxGetDevResource(CUcontext hCtx, CUdevResource *resource,
                                     CUdevResourceType type)
{
    struct front_green green;
    struct front_partition all;
    CUdevice device = 0;
    CUresult rc = green_usable();
    if (rc == CUDA_SUCCESS && resource == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = hCtx == NULL ? CUDA_ERROR_INVALID_CONTEXT : front_host.context_check(hCtx);
    }
    if (rc == CUDA_SUCCESS && front_green_is(hCtx)) {
        return front_green_context(hCtx, &green)
                   ? front_partition_tell(green.device, &green.part, type, resource)
                   : CUDA_ERROR_INVALID_CONTEXT;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.context_device(hCtx, &device);
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_partition_whole(device, &all);
    }
    return rc == CUDA_SUCCESS ? front_partition_tell(device, &all, type, resource) : rc;
}

CUresult CUDAAPI cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx *phCtx)
{
    struct front_stream_facts facts;
    CUresult rc = green_usable();
    if (rc == CUDA_SUCCESS && phCtx == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.stream(hStream, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        *phCtx = front_green_is(facts.context) ? (CUgreenCtx)(uintptr_t)facts.context : NULL;
    }
    return rc;
}

#endif

#if CUDA_VERSION >= 12050
/* Gives the primary context in any case, unlike cuStreamGetCtx. */
CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
    struct front_green green;
    CUcontext context;
    CUresult rc = cuStreamGetCtx(hStream, &context);
    if (rc == CUDA_SUCCESS && pCtx == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    bool is_green = rc == CUDA_SUCCESS && front_green_is(context);
    if (is_green && (hStream == CU_STREAM_PER_THREAD || !front_green_context(context, &green))) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *pCtx = is_green ? green.primary : context;
    if (pGreenCtx != NULL) {
        *pGreenCtx = is_green ? (CUgreenCtx)(uintptr_t)context : NULL;
    }
    return CUDA_SUCCESS;
}
#endif
