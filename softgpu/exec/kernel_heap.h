/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of malloc and free in kernels. The records of its blocks lie outside the heap, in memory
 * that no kernel can access: a kernel that writes anywhere in the heap, or frees an address that is
 * no block, harms only itself. Any thread may call. */
#ifndef SOFTGPU_EXEC_KERNEL_HEAP_H
#define SOFTGPU_EXEC_KERNEL_HEAP_H

#include "softgpu/engine/engine.h"

/* A block aligned to `align` (a power of 2; at least 16 in any case); 0: out of memory. 0 bytes
 * give a block, too. */
uint64_t sg_kernel_heap_take(struct sg_kernel_heap *heap, uint64_t bytes, uint64_t align);

enum sg_heap_give { SG_HEAP_GIVEN, SG_HEAP_NOT_TAKEN, SG_HEAP_NO_BLOCK };
/* NOT_TAKEN: the address may be a block's, but none is taken there: freed twice. NO_BLOCK: it never
 * is a block's. */
enum sg_heap_give sg_kernel_heap_give(struct sg_kernel_heap *heap, uint64_t address);

#endif
