/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and preferences of a context. */
#include "softgpu/calls/call.h"
#include "softgpu/engine/budget.h"
#include "softgpu/module/kernel_heap.h"
#include "softgpu/process/print.h"

/* Newer than the oldest cuda.h that we build with. "CUDA in graphics" contexts share a GPU with
 * graphics, and there are none here. */
enum { LIMIT_CIG_ENABLED = 8, LIMIT_CIG_SHMEM_FALLBACK_ENABLED = 9 };

/* The field of the limit; NULL: this GPU has no such limit. */
static size_t *limit_of(struct sg_context *context, CUlimit limit)
{
    switch ((int)limit) {
    case CU_LIMIT_STACK_SIZE:
        return &context->stack_bytes;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        return &context->printf_bytes;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        return &context->heap_bytes;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
        return &context->launch_count;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
        return &context->l2_granularity;
    default:
        return NULL;
    }
}

/* A limit above the maximum is cut, as CUDA does. */
static size_t limit_cut(CUlimit limit, size_t value)
{
    if (limit == CU_LIMIT_STACK_SIZE) {
        size_t rounded = (value + 15) & ~(size_t)15;
        return rounded < value || rounded > (size_t)512 << 10 ? (size_t)512 << 10 : rounded;
    }
    if (limit == CU_LIMIT_PRINTF_FIFO_SIZE) {
        return value < SG_PRINT_BYTES_MAX ? value : SG_PRINT_BYTES_MAX;
    }
    if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY) {
        return value > 128 ? 128 : value;
    }
    return value;
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    size_t *kept = limit_of(context, limit);
    if (kept == NULL) {
        return sg_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    }
    if (limit == CU_LIMIT_PRINTF_FIFO_SIZE) {
        if (context->printed) {
            return sg_leave(CUDA_ERROR_INVALID_VALUE);
        }
        if (limit_cut(limit, value) > sg_budget_most() - sg_budget_held()) {
            return sg_leave(CUDA_ERROR_OUT_OF_MEMORY);
        }
        sg_print_resize(context->print, limit_cut(limit, value));
    }
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) {
        return sg_leave(sg_context_heap_resize(context, value));
    }
    *kept = limit_cut(limit, value);
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    const size_t *kept = limit_of(context, limit);
    if (pvalue == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *pvalue = kept != NULL ? *kept : 0; /* cuBLAS reads it without a look at the error */
    bool off = (int)limit == LIMIT_CIG_ENABLED || (int)limit == LIMIT_CIG_SHMEM_FALLBACK_ENABLED;
    return sg_leave(kept != NULL || off ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT);
}

CUresult CUDAAPI cuCtxGetExecAffinity(CUexecAffinityParam *pExecAffinity, CUexecAffinityType type)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    return rc == CUDA_SUCCESS
               ? sg_leave(front_affinity_tell(pExecAffinity, type, sg_context_sms(context)))
               : rc;
}

/* Both use one kind of memory: preferences are kept and have no effect. */
CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if ((int)config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    context->cache_config = config;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if (pconfig == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *pconfig = context->cache_config;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if ((int)config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE ||
        config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    context->shared_config = config;
    return sg_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    if (pConfig == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    /* Banks always have four bytes. */
    *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return sg_leave(CUDA_SUCCESS);
}

/* No profiler can be attached to this GPU, so there is nothing to start or stop, as in CUDA. */
static CUresult profiler_absent(void)
{
    struct sg_context *context;
    CUresult rc = sg_enter(&context);
    return rc == CUDA_SUCCESS ? sg_leave(CUDA_SUCCESS) : rc;
}

CUresult CUDAAPI cuProfilerStart(void)
{
    return profiler_absent();
}

CUresult CUDAAPI cuProfilerStop(void)
{
    return profiler_absent();
}
