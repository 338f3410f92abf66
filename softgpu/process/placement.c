/* SPDX-License-Identifier: Apache-2.0 */
/* The wishes of each thread. */
#include "softgpu/process/placement.h"

#include <stddef.h>

static _Thread_local struct {
    const struct cuda_module_layout *module; /* borrowed */
    uint64_t object, condition, memory;
} wishes;

void sg_placement_module(const struct cuda_module_layout *layout)
{
    wishes.module = layout;
}

void sg_placement_object(uint64_t handle)
{
    wishes.object = handle;
}

void sg_placement_condition(uint64_t handle)
{
    wishes.condition = handle;
}

void sg_placement_memory(uint64_t address)
{
    wishes.memory = address;
}

const struct cuda_module_layout *sg_placement_take_module(void)
{
    const struct cuda_module_layout *layout = wishes.module;
    wishes.module = NULL;
    return layout;
}

uint64_t sg_placement_take_object(void)
{
    uint64_t handle = wishes.object;
    wishes.object = 0;
    return handle;
}

uint64_t sg_placement_take_condition(void)
{
    uint64_t handle = wishes.condition;
    wishes.condition = 0;
    return handle;
}

uint64_t sg_placement_take_memory(void)
{
    uint64_t address = wishes.memory;
    wishes.memory = 0;
    return address;
}
