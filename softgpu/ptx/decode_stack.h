/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes alloca, stacksave and stackrestore. */
#ifndef SOFTGPU_PTX_DECODE_STACK_H
#define SOFTGPU_PTX_DECODE_STACK_H

#include "softgpu/ptx/decode.h"

void sg_decode_stack(struct sg_decoder *decoder); /* alloca, stacksave, stackrestore */

/* At the begin of a function with alloca, and before it returns. */
void sg_decode_enter_stack(struct sg_decoder *decoder);
void sg_decode_leave_stack(struct sg_decoder *decoder);

#endif
