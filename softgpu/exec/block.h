/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: made once, and run for one block of the grid after the other. */
#ifndef SOFTGPU_EXEC_BLOCK_H
#define SOFTGPU_EXEC_BLOCK_H

#include "softgpu/exec/warp.h"

struct sg_block *sg_block_create(struct sg_grid *grid);
void sg_block_destroy(struct sg_block *block);
/* How many there are, of all grids. */
uint32_t sg_blocks_alive(void);

/* Begins block `linear` of the grid. */
void sg_block_begin(struct sg_block *block, uint64_t linear);

/* Runs about `turns` turns of its warps; block->done when it is complete. */
void sg_block_run(struct sg_block *block, uint64_t turns);

#endif
