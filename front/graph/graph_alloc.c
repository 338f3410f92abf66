/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations by launches of graphs: a flag for each block, high-water marks for each device. */
#include "front/graph/graph_alloc.h"

CUresult front_graph_allocs_launch(struct front_graph_alloc *allocs, unsigned count, bool automatic)
{
    for (unsigned done = 0; done < count; done++) {
        struct front_graph_alloc *alloc = &allocs[done];
        struct front_graph_block *block = alloc->block;
        alloc->before = block->used;
        if (block->used != alloc->frees && (alloc->frees || !automatic)) {
            front_graph_allocs_undo(allocs, done);
            return CUDA_ERROR_INVALID_VALUE;
        }
        block->used = !alloc->frees;
        block->launched = true;
    }
    return CUDA_SUCCESS;
}

void front_graph_allocs_undo(const struct front_graph_alloc *allocs, unsigned count)
{
    while (count-- > 0) {
        allocs[count].block->used = allocs[count].before;
    }
}

static void high(uint64_t *mark, uint64_t bytes)
{
    *mark = bytes > *mark ? bytes : *mark;
}

void front_graph_account_add(struct front_graph_account *account, uint64_t bytes)
{
    account->mapped += bytes;
    high(&account->used_high, account->mapped);
    high(&account->reserved_high, account->mapped);
}

CUresult front_graph_account_get(const struct front_graph_account *account,
                                 CUgraphMem_attribute attribute, cuuint64_t *bytes)
{
    switch ((int)attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        *bytes = account->mapped;
        return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        *bytes = account->used_high;
        return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        *bytes = account->reserved_high;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult front_graph_account_set(struct front_graph_account *account,
                                 CUgraphMem_attribute attribute, cuuint64_t bytes)
{
    if (bytes != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch ((int)attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        account->used_high = account->mapped;
        return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        account->reserved_high = account->mapped;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}
