/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned host memory, and managed memory. All functions want the process's lock held. */
#ifndef SOFTGPU_MEMORY_HOST_MEMORY_H
#define SOFTGPU_MEMORY_HOST_MEMORY_H

#include "softgpu/memory/ranges.h"

/* 0 bytes give no range: NULL. */
CUresult sg_host_alloc(struct sg_context *context, uint64_t bytes, unsigned flags,
                       struct sg_range **range);
CUresult sg_host_register(struct sg_context *context, uint64_t address, uint64_t bytes,
                          unsigned flags);

/* Managed memory: host and devices use it at one address. `context` NULL: it belongs to no
 * context. */
CUresult sg_managed_alloc(struct sg_context *context, uint64_t bytes, struct sg_range **range);

/* As sg_managed_alloc, at a given address. CUDA_ERROR_INVALID_VALUE: it cannot begin there.
 * CUDA_ERROR_ALREADY_ACQUIRED: something else is there. */
CUresult sg_managed_alloc_at(uint64_t address, uint64_t bytes, struct sg_range **range);

/* `range` is HOST, REGISTERED or MANAGED, and is freed. */
void sg_host_free(struct sg_range *range);

/* Gives back the memory of a range that has been freed while its place was kept. */
void sg_host_return(struct sg_range *range);

#endif
