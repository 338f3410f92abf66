/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of allocating nodes, and their parameters. */
#ifndef FRONT_GRAPH_GRAPH_MEMORY_H
#define FRONT_GRAPH_GRAPH_MEMORY_H

#include "front/graph/graph.h"

/* Makes the parameters of a node that allocates, or frees. Their address is known at once:
 * params->alloc.wanted.dptr. */
CUresult front_alloc_node_make(struct front_node_params *params,
                               const CUDA_MEM_ALLOC_NODE_PARAMS_v1 *alloc);
CUresult front_free_node_make(struct front_node_params *params, CUdeviceptr address);
/* Whether a copy, fill or value step begins at an address for which `holds` returns true. */
bool front_node_touches(const struct front_node_params *params, bool (*holds)(uint64_t address));

/* May be called with or without the graphs' lock. */
void front_graph_memory_hold(struct front_graph_memory *memory);
void front_graph_memory_drop(struct front_graph_memory *memory);
/* Whether this is the address of an allocating node. */
bool front_graph_memory_known(CUdeviceptr address);

#endif
