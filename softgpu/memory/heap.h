/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAlloc: device memory in chunks of its own, or in a slab with other small allocations. All
 * functions want the process's lock held. */
#ifndef SOFTGPU_MEMORY_HEAP_H
#define SOFTGPU_MEMORY_HEAP_H

#include "api/extent.h"
#include "softgpu/memory/ranges.h"

#define SG_ALLOC_ALIGN API_EXTENT_UNIT

CUresult sg_heap_alloc(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                       struct sg_range **range);

/* As sg_heap_alloc, at a given address; 0: anywhere. The range is `kept` if its place was (kept.h).
 * CUDA_ERROR_INVALID_VALUE: an allocation of that size cannot begin there.
 * CUDA_ERROR_ALREADY_ACQUIRED: something else is there. */
CUresult sg_heap_alloc_at(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                          uint64_t address, struct sg_range **range);

/* The chunks of a LARGE or SMALL range, and the address at which they begin. */
const uint32_t *sg_heap_chunks(const struct sg_range *range, uint32_t *count, uint64_t *base);

/* This process's hold on them, if others may have them, too. */
struct sg_shared_chunks *sg_heap_shared(struct sg_range *range);

/* `range` is LARGE, SMALL or IMPORTED, and is freed. */
void sg_heap_free(struct sg_range *range);

/* Bytes of the slabs of the device that no allocation has. */
uint64_t sg_heap_spare(const struct sg_device *device);

/* Gives back the memory of a range that has been freed while its place was kept. */
void sg_heap_return(struct sg_range *range);

#endif
