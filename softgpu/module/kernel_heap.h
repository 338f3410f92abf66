/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of a context, for malloc in its kernels. All functions want the process's lock held. */
#ifndef SOFTGPU_MODULE_KERNEL_HEAP_H
#define SOFTGPU_MODULE_KERNEL_HEAP_H

#include "softgpu/process/context.h"

#define SG_HEAP_MIN ((size_t)4096)

CUresult sg_context_heap_make(struct sg_context *context);

/* No kernel that may use the heap runs. */
void sg_context_heap_drop(struct sg_context *context);

/* CUDA_ERROR_INVALID_VALUE: the heap is in use already. */
CUresult sg_context_heap_resize(struct sg_context *context, size_t bytes);

#endif
