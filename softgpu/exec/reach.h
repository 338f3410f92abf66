/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes at a generic address, for instructions that are not the common load and store: which take
 * 16 bytes of a row, a whole matrix, or a bulk of memory. */
#ifndef SOFTGPU_EXEC_REACH_H
#define SOFTGPU_EXEC_REACH_H

#include "softgpu/exec/warp.h"

/* Where the lane's `bytes` from generic `address` are, contiguous; NULL after a fault, which has
 * been reported. `align`: a power of two. Local memory is not contiguous beyond 8 aligned bytes,
 * and a fault then. `need`: SG_MAP_*. */
uint8_t *sg_reach(struct sg_warp *warp, const struct sg_insn *in, unsigned lane, uint64_t address,
                  uint64_t bytes, unsigned align, unsigned need);

#endif
