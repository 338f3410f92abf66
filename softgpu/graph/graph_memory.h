/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that nodes of executable graphs allocate. All functions want the process's lock held. */
#ifndef SOFTGPU_GRAPH_GRAPH_MEMORY_H
#define SOFTGPU_GRAPH_GRAPH_MEMORY_H

#include "softgpu/graph/graph.h"

struct sg_graph_memory;

CUresult sg_graph_memory_make(const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *wanted, CUdeviceptr *address);

/* NULL: no address that a node allocates. */
struct sg_graph_memory *sg_graph_memory_find(uint64_t address);
struct front_graph_block *sg_graph_memory_hold(struct sg_graph_memory *memory);
void sg_graph_memory_drop(struct sg_graph_memory *memory);

/* Drops what the executable holds. */
void sg_graph_memory_leave(const struct sg_graph_exec *exec);

/* Does the address lie in memory that a node allocates? */
bool sg_graph_memory_holds(uint64_t address);

/* Sees to it that there is memory behind all addresses of the executable. */
CUresult sg_graph_memory_map(const struct sg_graph_exec *exec);

/* Takes that away again where no launch has been made since. */
void sg_graph_memory_unmap(const struct sg_graph_exec *exec);

/* Maps it, and front_graph_allocs_launch. */
CUresult sg_graph_memory_launch(const struct sg_graph_exec *exec);

/* cuMemFree and cuMemFreeAsync of memory that a graph has left allocated; the work before is the
 * caller's to wait for. */
CUresult sg_graph_memory_free(struct sg_graph_memory *memory);

struct front_graph_account *sg_graph_memory_account(const struct sg_device *device);

/* Gives what no graph has allocated back to the device. Nothing runs. */
void sg_graph_memory_trim(const struct sg_device *device);

#endif
