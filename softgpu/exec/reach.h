/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes at a generic address, for instructions other than the common load and store: 16 bytes of a
 * row, a whole matrix, or a bulk of memory. */
#ifndef SOFTGPU_EXEC_REACH_H
#define SOFTGPU_EXEC_REACH_H

#include "softgpu/exec/warp.h"

/* The host address of the lane's `bytes` from generic `address`, contiguous; NULL after a fault,
 * which has been reported. `align`: a power of two. Local memory is contiguous only up to 8 aligned
 * bytes; more is a fault. `need`: SG_MAP_*. */
uint8_t *sg_reach(struct sg_warp *warp, const struct sg_insn *in, unsigned lane, uint64_t address,
                  uint64_t bytes, unsigned align, unsigned need);

#endif
