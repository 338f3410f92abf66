/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes atom and red. */
#ifndef SOFTGPU_PTX_DECODE_ATOM_H
#define SOFTGPU_PTX_DECODE_ATOM_H

#include "softgpu/ptx/decode.h"

void sg_decode_atom(struct sg_decoder *decoder);

#endif
