/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects, for front/: front_host.sampled. */
#ifndef SOFTGPU_CALLS_TEXTURE_H
#define SOFTGPU_CALLS_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "front/front.h"

CUresult sg_call_sampled(uint64_t handle, bool surface, struct front_sampled *sampled);

#endif
