/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes setp and set. */
#ifndef SOFTGPU_PTX_DECODE_COMPARE_H
#define SOFTGPU_PTX_DECODE_COMPARE_H

#include "softgpu/ptx/decode.h"

void sg_decode_setp(struct sg_decoder *decoder);
void sg_decode_set(struct sg_decoder *decoder);

#endif
