/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, for front/. */
#ifndef SOFTGPU_CALLS_ARRAY_H
#define SOFTGPU_CALLS_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "front/front.h"

/* front_host.array. */
CUresult sg_call_array(uint64_t handle, bool mipmapped, struct front_array *array);

#endif
