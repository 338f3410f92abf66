/* SPDX-License-Identifier: Apache-2.0 */
/* Reference-counted contexts, as before CUDA 4: cuCtxCreate sets the count to one, cuCtxAttach
 * increments it, cuCtxDetach decrements it and destroys the context at zero. cuCtxDestroy
 * ignores the count. */
#include "front/core/attach.h"
#include "front/front.h"

CUresult CUDAAPI cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    CUcontext current;
    CUresult rc = front_context_need(&current);
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS && (pctx == NULL || flags != 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS && front_host.context_check(current) != CUDA_SUCCESS) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    if (rc == CUDA_SUCCESS && !front_attach_more(current)) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc == CUDA_SUCCESS) {
        *pctx = current;
    }
    return rc;
}

CUresult CUDAAPI cuCtxDetach(CUcontext ctx)
{
    CUcontext current;
    CUresult rc = front_context_need(&current);
    if (rc == CUDA_SUCCESS && ctx != current) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    return rc == CUDA_SUCCESS && !front_attach_less(ctx) ? cuCtxDestroy_v2(ctx) : rc;
}
