/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: front/ has the table of them. */
#include "softgpu/process/green.h"

#include "front/front.h"
#include "softgpu/calls/call.h"

CUresult sg_call_green_make(struct front_green *front)
{
    struct sg_green *green = NULL;
    CUresult result = cuDevicePrimaryCtxRetain(&front->primary, front->device);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = sg_enter_process();
    if (result == CUDA_SUCCESS) {
        struct sg_context *context = sg_context_find(front->primary);
        result = sg_leave(context != NULL && context->alive ? sg_green_make(context, front, &green)
                                                            : CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    front->host = green;
    if (result != CUDA_SUCCESS) {
        (void)cuDevicePrimaryCtxRelease_v2(front->device);
    }
    return result;
}

CUresult sg_call_green_end(const struct front_green *front)
{
    CUresult result = sg_enter_teardown();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    sg_green_end(front->host);
    (void)sg_leave(CUDA_SUCCESS);
    (void)cuDevicePrimaryCtxRelease_v2(front->device);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority)
{
    CUresult result = sg_enter_process();
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (phStream == NULL || flags != CU_STREAM_NON_BLOCKING) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct sg_green *green = sg_green_of((CUcontext)(uintptr_t)greenCtx);
    return sg_leave(green != NULL
                        ? sg_call_stream_make(green->context, green, flags, priority, phStream)
                        : CUDA_ERROR_INVALID_CONTEXT);
}
#endif
