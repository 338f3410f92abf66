/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of nodes that allocate. The address is reserved when the node is made, memory is
 * mapped there (client/memory/vmm.h) when an executable with the node is launched, and stays from
 * launch to launch, until it is trimmed or no graph has the node any more. A server sees nothing of
 * it but mappings.
 *
 * Note: the thread that drops it may be that of host functions, or hold locks that this file wants,
 * and so must not wait for a server, which may wait for a host function. Dropped memory is put
 * aside, and given back by the next call that may wait. */
#include "client/memory/graph_memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/list.h"
#include "client/address/address_map.h"
#include "client/call/call.h"
#include "client/memory/context_wait.h"
#include "client/memory/vmm.h"
#include "client/session/server_devices.h"
#include "front/front.h"

struct client_graph_memory {
    struct ga_list in_all; /* or among those that are put aside */
    unsigned references;
    CUdevice device;
    uint64_t start, space; /* the reservation; space: its bytes */
    bool mapped;
    struct front_graph_block block;
};

static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER; /* of mappings and what is used */
static struct front_graph_account accounts[CLIENT_DEVICES_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows; comes last */
static struct ga_list all = {&all, &all}, aside = {&aside, &aside};

/* ---- mappings; `changes` is held */

static CUresult graph_memory_map(struct client_graph_memory *memory)
{
    const CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = memory->device};
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location};
    const CUmemAccessDesc access = {.location = location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const CUdeviceptr address = memory->start;
    CUmemGenericAllocationHandle physical;
    if (memory->mapped) {
        return CUDA_SUCCESS;
    }
    CU_TRY(cuMemCreate(&physical, memory->space, &prop, 0));
    CUresult rc = cuMemMap(address, memory->space, 0, physical, 0);
    (void)cuMemRelease(physical); /* it goes with the mapping */
    if (rc == CUDA_SUCCESS) {
        rc = cuMemSetAccess(address, memory->space, &access, 1);
        if (rc != CUDA_SUCCESS) {
            (void)cuMemUnmap(address, memory->space);
        }
    }
    if (rc == CUDA_SUCCESS) {
        memory->mapped = true;
        front_graph_account_add(&accounts[memory->device], memory->space);
    }
    return rc;
}

static void graph_memory_unmap(struct client_graph_memory *memory)
{
    if (memory->mapped) {
        (void)cuMemUnmap(memory->start, memory->space);
        accounts[memory->device].mapped -= memory->space;
        memory->mapped = memory->block.launched = false;
    }
}

static struct client_graph_memory *aside_take(void)
{
    pthread_mutex_lock(&lock);
    struct ga_list *first = aside.next;
    if (first != &aside) {
        ga_list_remove(first);
    }
    pthread_mutex_unlock(&lock);
    return first != &aside ? ga_container(first, struct client_graph_memory, in_all) : NULL;
}

static void tidy(void)
{
    struct client_graph_memory *memory;
    while ((memory = aside_take()) != NULL) {
        graph_memory_unmap(memory);
        (void)cuMemAddressFree(memory->start, memory->space);
        free(memory);
    }
}

void client_graph_memory_tidy(void)
{
    pthread_mutex_lock(&lock);
    bool some = !ga_list_empty(&aside);
    pthread_mutex_unlock(&lock);
    if (some && !client_call_exiting()) {
        pthread_mutex_lock(&changes);
        tidy();
        pthread_mutex_unlock(&changes);
    }
}

/* ---- nodes */

static CUresult graph_memory_make(uint64_t bytes, CUdevice device, CUdeviceptr *address)
{
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    size_t unit;
    struct client_graph_memory *made = calloc(1, sizeof *made);
    CUresult rc = made == NULL ? CUDA_ERROR_OUT_OF_MEMORY
                               : cuMemGetAllocationGranularity(&unit, &prop,
                                                               CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (rc == CUDA_SUCCESS) {
        made->space = (bytes + unit - 1) / unit * unit;
        rc = cuMemAddressReserve(address, made->space, 0, 0, 0);
    }
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc == CUDA_ERROR_NOT_SUPPORTED
                   ? front_unsupported("memory that a graph allocates, of a server whose driver "
                                       "maps no memory at given addresses")
                   : rc;
    }
    made->references = 1;
    made->device = device;
    made->start = *address;
    const struct client_address at = {
        .kind = CLIENT_ADDRESS_GRAPH, .start = made->start, .bytes = made->space, .record = made};
    if (client_address_enter(&at) != GA_OK) {
        (void)cuMemAddressFree(made->start, made->space);
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    ga_list_append(&all, &made->in_all);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult client_graph_memory_reserve(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted,
                                     CUdeviceptr *address)
{
    const CUmemPoolProps *props = &wanted->poolProps;
    struct client_device *device;
    size_t total;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        props->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        client_device_find(props->location.id, &device) != CUDA_SUCCESS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    client_graph_memory_tidy();
    CU_TRY(cuDeviceTotalMem_v2(&total, props->location.id));
    if (wanted->bytesize > total) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return graph_memory_make(wanted->bytesize, props->location.id, address);
}

static void give(struct client_graph_memory *memory)
{
    pthread_mutex_lock(&lock);
    if (--memory->references == 0) {
        client_address_leave(CLIENT_ADDRESS_GRAPH, memory->start, memory);
        ga_list_remove(&memory->in_all);
        ga_list_append(&aside, &memory->in_all);
    }
    pthread_mutex_unlock(&lock);
}

static struct client_graph_memory *graph_memory_find(uint64_t start)
{
    struct client_address at;
    return client_address_find(start, CLIENT_ADDRESS(GRAPH), &at) && at.start == start ? at.record
                                                                                       : NULL;
}

void client_graph_memory_drop(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    struct client_graph_memory *memory = graph_memory_find(address);
    pthread_mutex_unlock(&lock);
    if (memory != NULL) {
        give(memory);
    }
}

bool client_graph_memory_holds(uint64_t address)
{
    struct client_address at;
    return client_address_find(address, CLIENT_ADDRESS(GRAPH), &at);
}

/* ---- executables */

static struct client_graph_memory *graph_memory_take(uint64_t address)
{
    pthread_mutex_lock(&lock);
    struct client_graph_memory *memory = graph_memory_find(address);
    if (memory != NULL) {
        memory->references++;
    }
    pthread_mutex_unlock(&lock);
    return memory;
}

static struct client_graph_memory *memory_of(const struct front_graph_alloc *alloc)
{
    return ga_container(alloc->block, struct client_graph_memory, block);
}

static bool has_memory(const struct front_node_params *params)
{
    return params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
           params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

CUresult client_graph_memory_collect(const struct front_plan *plan,
                                     struct client_graph_allocs *allocs)
{
    unsigned count = 0;
    for (unsigned i = 0; i < plan->count; i++) {
        count += has_memory(plan->nodes[i].params);
    }
    allocs->at = count != 0 ? calloc(count, sizeof *allocs->at) : NULL;
    if (allocs->at == NULL) {
        return count == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; i < plan->count; i++) {
        const struct front_node_params *params = plan->nodes[i].params;
        if (has_memory(params)) {
            bool frees = params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
            struct client_graph_memory *memory =
                graph_memory_take(frees ? params->free : params->alloc.wanted.dptr);
            if (memory == NULL) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            allocs->at[allocs->count++] =
                (struct front_graph_alloc){.frees = frees, .block = &memory->block};
        }
    }
    return CUDA_SUCCESS;
}

void client_graph_memory_leave(struct client_graph_allocs *allocs)
{
    for (unsigned i = 0; i < allocs->count; i++) {
        give(memory_of(&allocs->at[i]));
    }
    free(allocs->at);
    allocs->at = NULL;
    allocs->count = 0;
}

static CUresult map_all(const struct client_graph_allocs *allocs)
{
    CUresult rc = CUDA_SUCCESS;
    tidy();
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < allocs->count; i++) {
        rc = graph_memory_map(memory_of(&allocs->at[i]));
    }
    return rc;
}

CUresult client_graph_memory_map(const struct client_graph_allocs *allocs)
{
    if (allocs->count == 0) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&changes);
    CUresult rc = map_all(allocs);
    pthread_mutex_unlock(&changes);
    return rc;
}

void client_graph_memory_unmap(const struct client_graph_allocs *allocs)
{
    if (allocs->count == 0) {
        return;
    }
    pthread_mutex_lock(&changes);
    for (unsigned i = 0; i < allocs->count; i++) {
        if (!allocs->at[i].block->launched) {
            graph_memory_unmap(memory_of(&allocs->at[i]));
        }
    }
    pthread_mutex_unlock(&changes);
}

CUresult client_graph_memory_launch(const struct client_graph_allocs *allocs, bool frees)
{
    if (allocs->count == 0) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&changes);
    CUresult rc = map_all(allocs);
    if (rc == CUDA_SUCCESS) {
        rc = front_graph_allocs_launch(allocs->at, allocs->count, frees);
    }
    pthread_mutex_unlock(&changes);
    return rc;
}

void client_graph_memory_undo(const struct client_graph_allocs *allocs)
{
    pthread_mutex_lock(&changes);
    front_graph_allocs_undo(allocs->at, allocs->count);
    pthread_mutex_unlock(&changes);
}

/* ---- what the program does with it */

/* Waits for all work on the device that there is. */
static CUresult graph_memory_settle(CUdevice device)
{
    return client_session_wait(atomic_load(&client_devices[device]->session));
}

bool client_graph_memory_known(CUdeviceptr address)
{
    return graph_memory_find(address) != NULL;
}

CUresult client_graph_memory_free(CUdeviceptr address)
{
    CUresult rc = CUDA_SUCCESS;
    for (CUdevice i = 0; rc == CUDA_SUCCESS && i < client_device_count; i++) {
        rc = graph_memory_settle(i);
    }
    struct client_graph_memory *memory = rc == CUDA_SUCCESS ? graph_memory_take(address) : NULL;
    if (memory == NULL) {
        return rc == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : rc;
    }
    pthread_mutex_lock(&changes);
    rc = memory->block.used ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    memory->block.used = false;
    pthread_mutex_unlock(&changes);
    give(memory);
    return rc;
}

static CUresult graph_memory_enter(CUdevice ordinal, const void *value)
{
    struct client_device *device;
    CUresult rc = client_vmm_enter(); /* no current context is needed */
    if (rc == CUDA_SUCCESS) {
        rc = client_vmm_leave(client_device_find(ordinal, &device));
    }
    if (rc == CUDA_SUCCESS && value == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        pthread_mutex_lock(&changes);
        tidy();
    }
    return rc;
}

static CUresult graph_memory_leave(CUresult rc)
{
    pthread_mutex_unlock(&changes);
    return rc;
}

CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void *value)
{
    CU_TRY(graph_memory_enter(device, value));
    return graph_memory_leave(front_graph_account_get(&accounts[device], attr, value));
}

CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
                                              void *value)
{
    CU_TRY(graph_memory_enter(device, value));
    return graph_memory_leave(
        front_graph_account_set(&accounts[device], attr, *(const cuuint64_t *)value));
}

/* Memory of the device that no node has allocated; each once: the memory found is held. */
static struct client_graph_memory *graph_memory_unused(CUdevice device)
{
    struct client_graph_memory *found = NULL;
    pthread_mutex_lock(&lock);
    ga_list_each (at, following, &all) {
        struct client_graph_memory *memory = ga_container(at, struct client_graph_memory, in_all);
        if (found == NULL && memory->device == device && memory->mapped && !memory->block.used) {
            memory->references++;
            found = memory;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Memory that a launch has freed may be in use until the launch has run. */
CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult rc = graph_memory_enter(device, &device);
    if (rc == CUDA_SUCCESS) {
        rc = graph_memory_settle(device);
        for (struct client_graph_memory *memory;
             rc == CUDA_SUCCESS && (memory = graph_memory_unused(device)) != NULL; give(memory)) {
            graph_memory_unmap(memory);
        }
        (void)graph_memory_leave(rc);
    }
    return rc;
}
