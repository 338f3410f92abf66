/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that nodes of graphs allocate. */
#ifndef CLIENT_MEMORY_GRAPH_MEMORY_H
#define CLIENT_MEMORY_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "front/front.h"

/* The allocations and frees of the nodes of an executable graph, in an order that fits. */
struct client_graph_allocs {
    unsigned count;
    struct front_graph_alloc *at;
};

CUresult client_graph_memory_reserve(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted,
                                     CUdeviceptr *address);
/* Any thread, with any lock. */
void client_graph_memory_drop(CUdeviceptr address);
/* Does the address lie in memory that a node allocates? */
bool client_graph_memory_holds(uint64_t address);
/* Holds what the nodes of the plan allocate and free, until client_graph_memory_leave (any thread).
 * CUDA_ERROR_INVALID_VALUE: it is not there any more. */
CUresult client_graph_memory_collect(const struct front_plan *plan,
                                     struct client_graph_allocs *allocs);
void client_graph_memory_leave(struct client_graph_allocs *allocs);
/* Sees to it that there is memory behind all addresses of the executable; takes that away again
 * where no launch has been made since. */
CUresult client_graph_memory_map(const struct client_graph_allocs *allocs);
void client_graph_memory_unmap(const struct client_graph_allocs *allocs);
/* Notes what a launch allocates and frees, in order; and maps it. `frees`: first what an earlier
 * one has left allocated. CUDA_ERROR_INVALID_VALUE: it allocates what is allocated, or frees what
 * is free; nothing is changed then. */
CUresult client_graph_memory_launch(const struct client_graph_allocs *allocs, bool frees);
/* The launch was not made after all. */
void client_graph_memory_undo(const struct client_graph_allocs *allocs);
/* Gives back what has been dropped. */
void client_graph_memory_tidy(void);
/* Is it the address of a node that allocates? */
bool client_graph_memory_known(CUdeviceptr address);
/* cuMemFree of memory that a graph has left allocated. */
CUresult client_graph_memory_free(CUdeviceptr address);

#endif
