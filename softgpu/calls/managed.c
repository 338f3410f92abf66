/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory. Host and devices use it at one address and at the same time, so nothing moves and
 * no stream owns it. */
#include "softgpu/calls/managed.h"

#include "softgpu/calls/call.h"
#include "softgpu/memory/host_memory.h"
#include "softgpu/memory/ranges.h"

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_range *range = NULL;
    rc = dptr == NULL || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
             ? CUDA_ERROR_INVALID_VALUE
             : sg_managed_alloc(context, bytesize, &range);
    if (rc == CUDA_SUCCESS) {
        ga_list_append(&context->ranges, &range->in_context);
        *dptr = range->span.base;
    }
    return sg_leave(rc);
}

CUresult sg_call_managed_move(CUstream handle, uint64_t start, uint64_t bytes, bool device)
{
    (void)handle, (void)start, (void)bytes, (void)device;
    return CUDA_SUCCESS;
}

CUresult sg_call_managed_attach(CUstream handle, uint64_t start, unsigned flags)
{
    (void)handle, (void)start, (void)flags;
    return CUDA_SUCCESS;
}
