/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts; front/ keeps the table of them. */
#include "softgpu/calls/green.h"

#include "softgpu/stream/green.h"

#include "front/front.h"
#include "softgpu/calls/call.h"
#include "softgpu/calls/stream.h"

CUresult sg_call_green_make(struct front_green *front)
{
    struct sg_green *green = NULL;
    CUresult rc = cuDevicePrimaryCtxRetain(&front->primary, front->device);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = sg_enter_process();
    if (rc == CUDA_SUCCESS) {
        struct sg_context *context = sg_context_find(front->primary);
        rc = sg_leave(context != NULL && context->alive ? sg_green_make(context, front, &green)
                                                        : CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    front->host = green;
    if (rc != CUDA_SUCCESS) {
        (void)cuDevicePrimaryCtxRelease_v2(front->device);
    }
    return rc;
}

CUresult sg_call_green_end(const struct front_green *front)
{
    CU_TRY(sg_enter_teardown());
    sg_green_end(front->host);
    (void)sg_leave(CUDA_SUCCESS);
    (void)cuDevicePrimaryCtxRelease_v2(front->device);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority)
{
    CU_TRY(sg_enter_process());
    if (phStream == NULL || flags != CU_STREAM_NON_BLOCKING) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct sg_green *green = sg_green_of((CUcontext)(uintptr_t)greenCtx);
    return sg_leave(green != NULL
                        ? sg_call_stream_make(green->context, green, flags, priority, phStream)
                        : CUDA_ERROR_INVALID_CONTEXT);
}
#endif
