/* SPDX-License-Identifier: Apache-2.0 */
/* Modules whose kernels launch kernels: memory for the parameters of those launches, made with
 * the module, and the properties of the device that kernels may query. */
#include "softgpu/module/device_launch.h"

#include "base/log.h"
#include "softgpu/memory/heap.h"
#include "softgpu/module/occupancy.h"
#include "softgpu/process/attributes.h"
#include "softgpu/process/process.h"

/* Room for texts, and for the parameters of as many launches as threads may prepare at a time: each
 * is free again when its launch is pending, and a warp prepares 32 before another one runs. */
static uint64_t launcher_bytes(const struct sg_device *device)
{
    return 4096u + (1024u + 64u * (uint64_t)device->config.sms) * 4096u;
}

static bool device_launch_attribute(const struct sg_device_facts *facts, int device, int which,
                                    int *value)
{
    (void)facts;
    const struct sg_device *found = sg_device_at(device);
    return found != NULL && which > 0 && which < CU_DEVICE_ATTRIBUTE_MAX &&
           sg_device_attribute(found, (CUdevice_attribute)which, value) == CUDA_SUCCESS;
}

static bool device_launch_limit(const struct sg_device_facts *facts, int which, uint64_t *value)
{
    const struct sg_device_launch_facts *own = (const struct sg_device_launch_facts *)facts;
    switch (which) { /* cudaLimit is CUlimit */
    case CU_LIMIT_STACK_SIZE:
        *value = own->stack_bytes;
        return true;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
        *value = own->printf_bytes;
        return true;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
        *value = own->heap_bytes;
        return true;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
        *value = own->launch_count;
        return true;
    default:
        return false;
    }
}

static bool device_launch_occupancy(const struct sg_device_facts *facts,
                                    const struct sg_kernel *kernel, uint32_t block_threads,
                                    uint64_t dynamic_shared, int *blocks)
{
    const struct sg_device *device = sg_device_at(facts->device);
    if (block_threads == 0 || device == NULL) {
        return false;
    }
    *blocks = (int)sg_occupancy_blocks(device, kernel, sg_dynamic_shared_default(kernel), -1,
                                       block_threads, dynamic_shared);
    return true;
}

void sg_device_launch_facts_read(struct sg_device_launch_facts *facts,
                                 const struct sg_context *context)
{
    *facts =
        (struct sg_device_launch_facts){.public = {.device = (int)context->device->ordinal,
                                                   .device_count = (int)sg_process.device_count,
                                                   .attribute = device_launch_attribute,
                                                   .limit = device_launch_limit,
                                                   .occupancy = device_launch_occupancy},
                                        .stack_bytes = context->stack_bytes,
                                        .printf_bytes = context->printf_bytes,
                                        .heap_bytes = context->heap_bytes,
                                        .launch_count = context->launch_count};
}

CUresult sg_device_launch_make(struct sg_module *module, uint64_t address)
{
    uint64_t bytes = launcher_bytes(module->context->device);
    CUresult rc = sg_heap_alloc_at(module->context->device, module->context, bytes, address,
                                   &module->launcher_memory);
    if (rc != CUDA_SUCCESS) {
        ga_error("softgpu: no device memory for kernels that launch kernels (%llu bytes)%s",
                 (unsigned long long)bytes,
                 rc == CUDA_ERROR_OUT_OF_MEMORY ? "" : " at the given address");
        return rc;
    }
    module->launcher_memory->variable =
        true; /* not the program's allocation: cuMemFree refuses it */
    void *memory = (void *)(uintptr_t)module->launcher_memory->span.base;
    if (sg_launcher_create(memory, bytes, &module->launcher) != GA_OK) {
        sg_device_launch_drop(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

void sg_device_launch_drop(struct sg_module *module)
{
    sg_launcher_destroy(module->launcher);
    module->launcher = NULL;
    if (module->launcher_memory != NULL) {
        sg_heap_free(module->launcher_memory);
        module->launcher_memory = NULL;
    }
}
