/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes asynchronous copies and mbarriers. */
#ifndef SOFTGPU_PTX_DECODE_ASYNC_H
#define SOFTGPU_PTX_DECODE_ASYNC_H

#include "softgpu/ptx/decode.h"

void sg_decode_mbarrier(struct sg_decoder *decoder);
void sg_decode_cp(struct sg_decoder *decoder);
void sg_decode_store_async(struct sg_decoder *decoder); /* and red.async */

#endif
