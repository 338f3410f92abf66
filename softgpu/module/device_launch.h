/* SPDX-License-Identifier: Apache-2.0 */
/* Support for kernels that launch kernels. All functions want the process's lock held. */
#ifndef SOFTGPU_MODULE_DEVICE_LAUNCH_H
#define SOFTGPU_MODULE_DEVICE_LAUNCH_H

#include "api/cuda_names.h"

#include "softgpu/module/module.h"
#include "softgpu/process/context.h"

/* Properties of device and context for kernels, as they were at the launch. */
struct sg_device_launch_facts {
    struct sg_device_facts public; /* first */
    uint64_t stack_bytes, printf_bytes, heap_bytes, launch_count;
};

void sg_device_launch_facts_read(struct sg_device_launch_facts *facts,
                                 const struct sg_context *context);
/* Makes the module's launcher. `address`: of its memory; 0: anywhere. CUDA_ERROR_OUT_OF_MEMORY, and
 * those of sg_heap_alloc_at. */
CUresult sg_device_launch_make(struct sg_module *module, uint64_t address);
/* Called when the module's last launch is over. */
void sg_device_launch_drop(struct sg_module *module);

#endif
