/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes one kernel. */
#ifndef SOFTGPU_PTX_DECODE_KERNEL_H
#define SOFTGPU_PTX_DECODE_KERNEL_H

#include "softgpu/ptx/decode.h"

/* Decodes one kernel. */
void sg_decode_kernel(struct sg_load *load, struct sg_ptx_module *module, struct sg_ptx_func *func,
                      uint32_t pass, struct sg_kernel_code *code);

#endif
