/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes cvt. */
#ifndef SOFTGPU_PTX_DECODE_CONVERT_H
#define SOFTGPU_PTX_DECODE_CONVERT_H

#include "softgpu/ptx/decode.h"

void sg_decode_cvt(struct sg_decoder *decoder);
void sg_decode_cvt_finish(struct sg_decoder *decoder, uint32_t row);

#endif
