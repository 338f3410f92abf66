/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that handles name. */
#ifndef SOFTGPU_EXEC_QUERY_H
#define SOFTGPU_EXEC_QUERY_H

#include "softgpu/exec/tex.h"

/* The object of that handle; NULL after a fault of `lane`. */
const struct sg_object *sg_tex_object(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                                      uint64_t handle, enum sg_object_kind kind);

/* The lanes of `mask` with the same value as the first one in the 8-byte row. */
uint32_t sg_lanes_agree(const uint64_t *row, uint32_t mask);

#endif
