/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, for other chapters. */
#ifndef SOFTGPU_CALLS_STREAM_H
#define SOFTGPU_CALLS_STREAM_H

#include "api/cuda_names.h"

#include "front/front.h"
#include "softgpu/process/context.h"

struct sg_green;

/* A stream with a handle, in a green context or (NULL) in none. */
CUresult sg_call_stream_make(struct sg_context *context, struct sg_green *green, unsigned flags,
                             int priority, CUstream *handle);

/* front_host.stream_values. */
CUresult sg_call_stream_values(CUstream handle, const struct front_value *values, unsigned count);

#endif
