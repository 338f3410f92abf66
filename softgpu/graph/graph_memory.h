/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of allocation nodes. All functions want the process's lock held. */
#ifndef SOFTGPU_GRAPH_GRAPH_MEMORY_H
#define SOFTGPU_GRAPH_GRAPH_MEMORY_H

#include "softgpu/graph/graph.h"

struct sg_graph_memory;

CUresult sg_graph_memory_make(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted, CUdeviceptr *address);

/* NULL: no allocation node has the address. */
struct sg_graph_memory *sg_graph_memory_find(uint64_t address);
struct front_graph_block *sg_graph_memory_hold(struct sg_graph_memory *memory);
void sg_graph_memory_drop(struct sg_graph_memory *memory);

/* Drops the references of the executable. */
void sg_graph_memory_leave(const struct sg_graph_exec *exec);

/* Whether the address lies in memory of an allocation node. */
bool sg_graph_memory_holds(uint64_t address);

/* Maps memory at all addresses of the executable. */
CUresult sg_graph_memory_map(const struct sg_graph_exec *exec);

/* Unmaps it again where no launch has been made since. */
void sg_graph_memory_unmap(const struct sg_graph_exec *exec);

/* Maps memory, then calls front_graph_allocs_launch. */
CUresult sg_graph_memory_launch(const struct sg_graph_exec *exec);

/* cuMemFree and cuMemFreeAsync of memory that a graph has left allocated; the caller waits for
 * earlier work. */
CUresult sg_graph_memory_free(struct sg_graph_memory *memory);

struct front_graph_account *sg_graph_memory_account(const struct sg_device *device);

/* Returns the memory to the device that no graph has allocated. Nothing runs. */
void sg_graph_memory_trim(const struct sg_device *device);

#endif
