/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes video instructions. */
#ifndef SOFTGPU_PTX_DECODE_VIDEO_H
#define SOFTGPU_PTX_DECODE_VIDEO_H

#include "softgpu/ptx/decode.h"

void sg_decode_video(struct sg_decoder *decoder);

#endif
