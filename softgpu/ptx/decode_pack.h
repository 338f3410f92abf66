/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes cvt of pairs. */
#ifndef SOFTGPU_PTX_DECODE_PACK_H
#define SOFTGPU_PTX_DECODE_PACK_H

#include "softgpu/ptx/decode.h"

bool sg_decode_cvt_packed(struct sg_decoder *decoder); /* false: it is no packed conversion */

#endif
