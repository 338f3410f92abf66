/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of allocating nodes. An address belongs to the node that was added for it and to
 * all copies of that node; it is given back with the last of them. */
#include "front/graph/graph_memory.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/number_map.h"
#include "front/front.h"

struct front_graph_memory {
    struct ga_number_node by_address; /* first */
    unsigned references;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the innermost lock */
static struct ga_number_map known;

void front_graph_memory_hold(struct front_graph_memory *memory)
{
    pthread_mutex_lock(&lock);
    memory->references++;
    pthread_mutex_unlock(&lock);
}

void front_graph_memory_drop(struct front_graph_memory *memory)
{
    pthread_mutex_lock(&lock);
    bool last = --memory->references == 0;
    if (last) {
        ga_number_map_remove(&known, &memory->by_address);
    }
    pthread_mutex_unlock(&lock);
    if (last) {
        front_graph_host.memory_drop(memory->by_address.number);
        free(memory);
    }
}

bool front_graph_memory_known(CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    bool found = ga_number_map_find(&known, address) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static bool addressed(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

bool front_node_touches(const struct front_node_params *params, bool (*holds)(uint64_t address))
{
    const CUDA_MEMCPY3D *copy = &params->copy.copy;
    bool found = false;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return (addressed(copy->dstMemoryType) && holds(copy->dstDevice)) ||
               (addressed(copy->srcMemoryType) && holds(copy->srcDevice));
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return holds(params->fill.fill.dst);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        for (unsigned i = 0; i < params->values.count; i++) {
            found |= holds(params->values.ops[i].waitValue.address);
        }
        return found;
    default:
        return false;
    }
}

CUresult front_alloc_node_make(struct front_node_params *params,
                               const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *alloc)
{
    if (alloc == NULL || alloc->bytesize == 0 ||
        (alloc->accessDescCount != 0 && alloc->accessDescs == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct front_graph_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUdeviceptr address;
    CUresult rc = front_graph_host.memory_reserve(alloc, &address);
    if (rc != CUDA_SUCCESS) {
        free(memory);
        return rc;
    }
    memory->references = 1;
    pthread_mutex_lock(&lock);
    ga_number_map_add(&known, &memory->by_address, address);
    pthread_mutex_unlock(&lock);
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                                         .alloc = {.wanted = *alloc, .memory = memory}};
    params->alloc.wanted.dptr = address;
    params->alloc.wanted.accessDescs = NULL;
    params->alloc.wanted.accessDescCount = 0;
    return CUDA_SUCCESS;
}

CUresult front_free_node_make(struct front_node_params *params, CUdeviceptr address)
{
    *params = (struct front_node_params){.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = address};
    return front_graph_memory_known(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
