/* SPDX-License-Identifier: Apache-2.0 */
/* Generic addresses of single lanes. */
#ifndef SOFTGPU_EXEC_GENERIC_H
#define SOFTGPU_EXEC_GENERIC_H

#include "softgpu/exec/warp.h"

/* NULL: the access is not allowed. For `bytes` within one aligned unit of at most 8 bytes. */
uint8_t *sg_generic_at(const struct sg_warp *warp, unsigned lane, uint64_t address, unsigned bytes,
                       unsigned need);

#endif
