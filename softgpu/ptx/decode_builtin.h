/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes calls of functions that the driver provides. */
#ifndef SOFTGPU_PTX_DECODE_BUILTIN_H
#define SOFTGPU_PTX_DECODE_BUILTIN_H

#include "softgpu/ptx/decode.h"

/* The driver's function for calls of `func`; NULL: none. */
sg_handler *sg_decode_builtin(struct sg_decoder *decoder, const struct sg_ptx_func *func);

#endif
