/* SPDX-License-Identifier: Apache-2.0 */
/* The heap that malloc and free of kernels work on. All that it knows of its blocks lies outside of
 * it, in memory that no kernel can touch: a kernel that writes anywhere in the heap, or frees what
 * is no block, does harm to itself only. Any thread. */
#ifndef SOFTGPU_EXEC_KERNEL_HEAP_H
#define SOFTGPU_EXEC_KERNEL_HEAP_H

#include "softgpu/engine/engine.h"

/* An address aligned to `align` (a power of 2; at least 16 is had), 0: none left. 0 bytes are one.
 */
uint64_t sg_kernel_heap_take(struct sg_kernel_heap *heap, uint64_t bytes, uint64_t align);

enum sg_heap_give { SG_HEAP_GIVEN, SG_HEAP_NOT_TAKEN, SG_HEAP_NO_BLOCK };
/* NOT_TAKEN: a block may begin there, but none does now: freed twice. NO_BLOCK: never. */
enum sg_heap_give sg_kernel_heap_give(struct sg_kernel_heap *heap, uint64_t address);

#endif
