/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of a context's kernels: device memory of CU_LIMIT_MALLOC_HEAP_SIZE bytes, allocated
 * when the first module that needs it is loaded. The limit may change until such a kernel is
 * launched. */
#include "softgpu/module/kernel_heap.h"

#include <string.h>
#include <sys/mman.h>

#include "softgpu/memory/heap.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/context.h"

static uint64_t heap_size(const struct sg_context *context)
{
    return context->heap_bytes < SG_HEAP_MIN ? SG_HEAP_MIN : context->heap_bytes;
}

/* It may have been another context's memory. */
static void heap_zero(const struct sg_range *range)
{
    void *at = (void *)(uintptr_t)range->span.base;
    uint64_t bytes = range->chunk_count * SG_CHUNK_BYTES;
    if (range->kind != SG_RANGE_LARGE || madvise(at, bytes, MADV_REMOVE) != 0) {
        memset(at, 0, range->span.bytes);
    }
}

CUresult sg_context_heap_make(struct sg_context *context)
{
    if (context->heap != NULL) {
        return CUDA_SUCCESS;
    }
    uint64_t bytes = heap_size(context);
    struct sg_range *range;
    CU_TRY(sg_heap_alloc(context->device, context, bytes, &range));
    heap_zero(range);
    range->variable = true; /* not the program's allocation: cuMemFree refuses it */
    context->heap = sg_kernel_heap_make(range->span.base, range->span.bytes);
    if (context->heap == NULL) {
        sg_heap_free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context->heap_range = range;
    return CUDA_SUCCESS;
}

CUresult sg_context_heap_place(struct sg_context *context, uint64_t base, uint64_t bytes,
                               const void *records, size_t record_bytes)
{
    struct sg_range *range;
    if (bytes != heap_size(context) || base == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(sg_heap_alloc_at(context->device, context, bytes, base, &range));
    heap_zero(range);
    range->variable = true;
    enum ga_status status =
        sg_kernel_heap_remake(base, bytes, records, record_bytes, &context->heap);
    if (status != GA_OK) {
        sg_heap_free(range);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    range->kept = false;
    context->heap_range = range;
    return CUDA_SUCCESS;
}

void sg_context_heap_drop(struct sg_context *context)
{
    if (context->heap != NULL) {
        sg_kernel_heap_free(context->heap);
        sg_heap_free(context->heap_range);
        context->heap = NULL;
        context->heap_range = NULL;
    }
    context->heap_used = false;
}

CUresult sg_context_heap_resize(struct sg_context *context, size_t bytes)
{
    if (context->heap_used) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    size_t before = context->heap_bytes;
    bool made = context->heap != NULL;
    context->heap_bytes = bytes;
    if (made) {
        sg_context_heap_drop(context);
        CUresult rc = sg_context_heap_make(context);
        if (rc != CUDA_SUCCESS) {
            context->heap_bytes = before;
            return sg_context_heap_make(context) == CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}
