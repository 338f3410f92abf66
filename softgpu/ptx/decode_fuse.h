/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses consecutive instructions. */
#ifndef SOFTGPU_PTX_DECODE_FUSE_H
#define SOFTGPU_PTX_DECODE_FUSE_H

#include "softgpu/ptx/decode_fast.h"

/* Fuses several consecutive instructions into one. */
void sg_fast_fuse(const struct sg_decoder *decoder, struct sg_insn *insns, const uint32_t *pc,
                  uint32_t count);

#endif
