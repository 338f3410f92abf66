/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's fault in words. */
#ifndef SOFTGPU_MODULE_FAULT_LOG_H
#define SOFTGPU_MODULE_FAULT_LOG_H

#include "softgpu/engine/engine.h"
#include "softgpu/process/device.h"

/* Describes a kernel's fault on stderr. Without the lock. */
void sg_fault_log(const struct sg_fault *fault, const struct sg_device *device);

#endif
