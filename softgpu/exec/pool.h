/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of worker threads, and of mappings for blocks. */
#ifndef SOFTGPU_EXEC_POOL_H
#define SOFTGPU_EXEC_POOL_H

#include "softgpu/exec/grid.h"

void sg_pool_help(struct sg_pool *pool, struct sg_grid *grid);

/* Mappings for blocks, kept for the next launch: making one costs page faults, more than a small
 * grid's work. At least *bytes, which becomes the size; NULL: no memory. The contents are those of
 * the last kernel of this owner (struct sg_launch), or zeros. */
void *sg_pool_take_memory(struct sg_pool *pool, uint64_t owner, size_t *bytes);
void sg_pool_return_memory(struct sg_pool *pool, uint64_t owner, void *memory, size_t bytes);

#endif
