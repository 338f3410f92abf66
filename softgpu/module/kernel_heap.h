/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of a context, for malloc in its kernels. All functions want the process's lock held. */
#ifndef SOFTGPU_MODULE_KERNEL_HEAP_H
#define SOFTGPU_MODULE_KERNEL_HEAP_H

#include "softgpu/process/context.h"

#define SG_HEAP_MIN ((size_t)4096)

CUresult sg_context_heap_make(struct sg_context *context);

/* Makes it at `base` with blocks that are taken (sg_kernel_heap_records). It has none yet.
 * CUDA_ERROR_INVALID_VALUE: it is not of the size that the limit says, or the records are wrong;
 * and the errors of sg_heap_alloc_at. */
CUresult sg_context_heap_place(struct sg_context *context, uint64_t base, uint64_t bytes,
                               const void *records, size_t record_bytes);

/* No kernel that may use the heap runs. */
void sg_context_heap_drop(struct sg_context *context);

/* CUDA_ERROR_INVALID_VALUE: the heap is in use already. */
CUresult sg_context_heap_resize(struct sg_context *context, size_t bytes);

#endif
