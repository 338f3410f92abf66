/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels that launch kernels. With the process's lock. */
#ifndef SOFTGPU_MODULE_DEVICE_LAUNCH_H
#define SOFTGPU_MODULE_DEVICE_LAUNCH_H

#include "api/cuda_names.h"

#include "softgpu/module/module.h"
#include "softgpu/process/context.h"

/* What kernels are told of device and context, as it was when they were launched. */
struct sg_nest_facts {
    struct sg_device_facts public; /* first */
    uint64_t stack_bytes, printf_bytes, heap_bytes, launch_count;
};

void sg_nest_facts_read(struct sg_nest_facts *facts, const struct sg_context *context);
/* Sees to it that the module has a launcher. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_nest_make(struct sg_module *module);
/* When its last launch is over. */
void sg_nest_drop(struct sg_module *module);

#endif
