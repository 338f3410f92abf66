/* SPDX-License-Identifier: Apache-2.0 */
/* Slot allocation for rows. */
#ifndef SOFTGPU_PTX_DECODE_SLOTS_H
#define SOFTGPU_PTX_DECODE_SLOTS_H

#include "softgpu/ptx/decode.h"

/* Lets rows of a function share a slot if they never live at the same time. */
void sg_slots_assign(struct sg_decoder *decoder, uint32_t slot);

#endif
