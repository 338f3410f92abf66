/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes branches, barriers, and operations of a whole warp. */
#ifndef SOFTGPU_PTX_DECODE_FLOW_H
#define SOFTGPU_PTX_DECODE_FLOW_H

#include "softgpu/ptx/decode.h"

/* Emits an instruction that waits for the lanes in the row `members` (0: it does not wait),
 * guarded. */
struct sg_draft *sg_emit_collective(struct sg_decoder *decoder, sg_handler *handler,
                                    uint32_t members);
void sg_decode_bra(struct sg_decoder *decoder);
void sg_decode_brx(struct sg_decoder *decoder);
void sg_decode_ret(struct sg_decoder *decoder);
void sg_decode_barrier(struct sg_decoder *decoder);
void sg_decode_fence(struct sg_decoder *decoder);
void sg_decode_shfl(struct sg_decoder *decoder);
void sg_decode_vote(struct sg_decoder *decoder);
void sg_decode_match(struct sg_decoder *decoder);
void sg_decode_redux(struct sg_decoder *decoder);
void sg_decode_simple(struct sg_decoder *decoder); /* exit, trap, nanosleep, activemask, prefetch */

#endif
