/* SPDX-License-Identifier: Apache-2.0 */
/* Timed kernels (model/timed.h) among the kernels of programs. */
#ifndef SOFTGPU_MODULE_TIMED_H
#define SOFTGPU_MODULE_TIMED_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "model/timing.h"
#include "softgpu/engine/engine.h"
#include "softgpu/process/device.h"

/* Whether the kernel is one on this device: it has the name, and kernels are not executed. */
bool sg_timed_is(const struct sg_device *device, const struct sg_kernel *kernel);
/* CUDA_ERROR_INVALID_VALUE: its parameters have other types, or a value that is not allowed; the
 * program is told which. */
CUresult sg_timed_check(const struct sg_kernel *kernel, const void *params);
/* The demand of a kernel that passed the check. */
struct model_demand sg_timed_demand(const void *params);

#endif
