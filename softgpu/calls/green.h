/* SPDX-License-Identifier: Apache-2.0 */
/* front_host.green_make and front_host.green_end. */
#ifndef SOFTGPU_CALLS_GREEN_H
#define SOFTGPU_CALLS_GREEN_H

#include "api/cuda_names.h"

#include "front/front.h"

/* front_host.green_make and front_host.green_end. */
CUresult sg_call_green_make(struct front_green *front);
CUresult sg_call_green_end(const struct front_green *front);

#endif
