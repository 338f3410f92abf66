/* SPDX-License-Identifier: Apache-2.0 */
/* The effect of asynchronous copies on an mbarrier. */
#ifndef SOFTGPU_EXEC_MBARRIER_H
#define SOFTGPU_EXEC_MBARRIER_H

#include "softgpu/exec/warp.h"

/* complete_tx: `bytes` of the barrier at the generic address have arrived. False: a fault. */
bool sg_mbarrier_complete(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                          uint64_t address, uint32_t bytes);

#endif
