/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes texture and surface instructions. */
#ifndef SOFTGPU_PTX_DECODE_TEXTURE_H
#define SOFTGPU_PTX_DECODE_TEXTURE_H

#include "softgpu/ptx/decode.h"

void sg_decode_tex(struct sg_decoder *decoder);   /* tex, tld4 */
void sg_decode_query(struct sg_decoder *decoder); /* txq, suq */
void sg_decode_istypep(struct sg_decoder *decoder);
void sg_decode_surface(struct sg_decoder *decoder); /* suld, sust, sured */

#endif
