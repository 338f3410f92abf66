/* SPDX-License-Identifier: Apache-2.0 */
/* front_host.host_call. */
#ifndef SOFTGPU_CALLS_HOST_FUNCTION_H
#define SOFTGPU_CALLS_HOST_FUNCTION_H

#include "api/cuda_names.h"

#include "front/front.h"

/* front_host.host_call. */
CUresult sg_call_host_function(CUstream handle, const struct front_host_call *call);

#endif
