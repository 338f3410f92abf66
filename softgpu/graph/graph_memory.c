/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of allocation nodes. The address is reserved when the node is made. Memory is mapped
 * there when an executable with the node is launched, and stays from launch to launch until it is
 * trimmed or no graph has the node any more. No two addresses share memory. */
#include "softgpu/graph/graph_memory.h"

#include <stdlib.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/graph/graph.h"
#include "softgpu/memory/vmm.h"
#include "softgpu/process/config.h"
#include "softgpu/process/process.h"

struct sg_graph_memory {
    struct ga_number_node by_address; /* first */
    struct ga_list in_all;
    unsigned references;
    struct sg_device *device;
    uint64_t space;      /* of the reservation */
    uint64_t allocation; /* handle of the mapped memory; 0: none */
    struct front_graph_block block;
};

static struct ga_number_map known;
static struct ga_list all; /* empty: never used */
static struct front_graph_account accounts[SG_DEVICES_MAX];

static struct sg_graph_memory *memory_of_alloc(const struct front_graph_alloc *alloc)
{
    return ga_container(alloc->block, struct sg_graph_memory, block);
}

CUresult sg_graph_memory_make(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted, CUdeviceptr *address)
{
    const CUmemPoolProps *props = &wanted->poolProps;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        props->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct sg_device *device = sg_device_at(props->location.id);
    if (device == NULL || wanted->bytesize > (uint64_t)device->memory.total * SG_CHUNK_BYTES) {
        return device == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct sg_graph_memory *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    uint64_t at;
    made->space = (wanted->bytesize + SG_CHUNK_BYTES - 1) / SG_CHUNK_BYTES * SG_CHUNK_BYTES;
    CUresult rc = sg_vmm_reserve(0, made->space, 0, &at);
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    if (all.next == NULL) {
        ga_list_init(&all);
    }
    made->references = 1;
    made->device = device;
    ga_number_map_add(&known, &made->by_address, at);
    ga_list_append(&all, &made->in_all);
    *address = at;
    return CUDA_SUCCESS;
}

struct sg_graph_memory *sg_graph_memory_find(uint64_t address)
{
    return (struct sg_graph_memory *)ga_number_map_find(&known, address);
}

bool sg_graph_memory_holds(uint64_t address)
{
    if (all.next == NULL) {
        return false;
    }
    ga_list_each (at, following, &all) {
        const struct sg_graph_memory *memory = ga_container(at, struct sg_graph_memory, in_all);
        if (address - memory->by_address.number < memory->space) {
            return true;
        }
    }
    return false;
}

struct front_graph_block *sg_graph_memory_hold(struct sg_graph_memory *memory)
{
    memory->references++;
    return &memory->block;
}

/* ---- what is behind it ---- */

static CUresult back(struct sg_graph_memory *memory)
{
    uint64_t address = memory->by_address.number, allocation;
    CUresult rc = memory->allocation != 0
                      ? CUDA_SUCCESS
                      : sg_vmm_create(memory->device, memory->space, &allocation);
    if (rc != CUDA_SUCCESS || memory->allocation != 0) {
        return rc;
    }
    rc = sg_vmm_map(address, memory->space, 0, allocation);
    if (rc == CUDA_SUCCESS) {
        rc = sg_vmm_access(address, memory->space, memory->device->ordinal,
                           SG_MAP_READ | SG_MAP_WRITE);
        if (rc != CUDA_SUCCESS) {
            (void)sg_vmm_unmap(address, memory->space, false);
        }
    }
    if (rc != CUDA_SUCCESS) {
        (void)sg_vmm_release(allocation);
        return rc;
    }
    memory->allocation = allocation;
    front_graph_account_add(&accounts[memory->device->ordinal], memory->space);
    return CUDA_SUCCESS;
}

static void unback(struct sg_graph_memory *memory)
{
    if (memory->allocation != 0) {
        (void)sg_vmm_unmap(memory->by_address.number, memory->space, false);
        (void)sg_vmm_release(memory->allocation);
        memory->allocation = 0;
        memory->block.launched = false;
        accounts[memory->device->ordinal].mapped -= memory->space;
    }
}

void sg_graph_memory_drop(struct sg_graph_memory *memory)
{
    if (--memory->references != 0) {
        return;
    }
    unback(memory);
    (void)sg_vmm_unreserve(memory->by_address.number, memory->space);
    ga_number_map_remove(&known, &memory->by_address);
    ga_list_remove(&memory->in_all);
    free(memory);
}

void sg_graph_memory_leave(const struct sg_graph_exec *exec)
{
    for (unsigned i = 0; i < exec->alloc_count; i++) {
        sg_graph_memory_drop(memory_of_alloc(&exec->allocs[i]));
    }
}

CUresult sg_graph_memory_map(const struct sg_graph_exec *exec)
{
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < exec->alloc_count; i++) {
        rc = back(memory_of_alloc(&exec->allocs[i]));
    }
    return rc;
}

void sg_graph_memory_unmap(const struct sg_graph_exec *exec)
{
    for (unsigned i = 0; i < exec->alloc_count; i++) {
        if (!exec->allocs[i].block->launched) {
            unback(memory_of_alloc(&exec->allocs[i]));
        }
    }
}

/* ---- allocated or not ---- */

CUresult sg_graph_memory_launch(const struct sg_graph_exec *exec)
{
    bool automatic = (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    CUresult rc = sg_graph_memory_map(exec);
    return rc == CUDA_SUCCESS
               ? front_graph_allocs_launch(exec->allocs, exec->alloc_count, automatic)
               : rc;
}

CUresult sg_graph_memory_free(struct sg_graph_memory *memory)
{
    if (!memory->block.used) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memory->block.used = false;
    return CUDA_SUCCESS;
}

/* ---- what a device holds ---- */

struct front_graph_account *sg_graph_memory_account(const struct sg_device *device)
{
    return &accounts[device->ordinal];
}

void sg_graph_memory_trim(const struct sg_device *device)
{
    if (all.next == NULL) {
        return;
    }
    ga_list_each (at, following, &all) {
        struct sg_graph_memory *memory = ga_container(at, struct sg_graph_memory, in_all);
        if (memory->device == device && !memory->block.used) {
            unback(memory);
        }
    }
}
