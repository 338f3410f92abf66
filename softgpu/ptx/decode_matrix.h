/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes matrix instructions. */
#ifndef SOFTGPU_PTX_DECODE_MATRIX_H
#define SOFTGPU_PTX_DECODE_MATRIX_H

#include "softgpu/ptx/decode.h"

void sg_decode_mma(struct sg_decoder *decoder);
void sg_decode_wmma(struct sg_decoder *decoder);
void sg_decode_ldmatrix(struct sg_decoder *decoder); /* and stmatrix, movmatrix */

#endif
