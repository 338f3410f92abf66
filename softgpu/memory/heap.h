/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAlloc: device memory in chunks of its own, or in a slab with other small allocations. All
 * functions want the process's lock held. */
#ifndef SOFTGPU_MEMORY_HEAP_H
#define SOFTGPU_MEMORY_HEAP_H

#include "softgpu/memory/ranges.h"

#define SG_ALLOC_ALIGN 512

CUresult sg_heap_alloc(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                       struct sg_range **range);

/* The chunks of a LARGE or SMALL range, and the address at which they begin. */
const uint32_t *sg_heap_chunks(const struct sg_range *range, uint32_t *count, uint64_t *base);

/* `range` is LARGE, SMALL or IMPORTED, and is freed. */
void sg_heap_free(struct sg_range *range);

#endif
