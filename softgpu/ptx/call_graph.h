/* SPDX-License-Identifier: Apache-2.0 */
/* The call graph of a kernel: recursive functions and the deepest stack of frames. */
#ifndef SOFTGPU_PTX_CALL_GRAPH_H
#define SOFTGPU_PTX_CALL_GRAPH_H

#include "softgpu/ptx/decode.h"

/* Finds recursive functions and the deepest stack. */
void sg_call_graph(struct sg_decoder *decoder);
uint64_t sg_frame_bytes(const struct sg_func_info *info);

#endif
