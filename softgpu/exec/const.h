/* SPDX-License-Identifier: Apache-2.0 */
/* Constant rows: those of the launch, and those that change with the block. */
#ifndef SOFTGPU_EXEC_CONST_H
#define SOFTGPU_EXEC_CONST_H

#include "softgpu/exec/grid.h"

/* Rows that are constant for the launch, and those that change with the block. */
void sg_consts_fill(struct sg_warp *warp, const struct sg_grid *grid);
void sg_consts_of_block(struct sg_block *block); /* computes the values of a block; comes first */

/* fast: only the rows that an undiverged warp reads. */
void sg_consts_fill_block(struct sg_warp *warp, bool fast);

#endif
