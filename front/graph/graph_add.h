/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes to graphs. */
#ifndef FRONT_GRAPH_GRAPH_ADD_H
#define FRONT_GRAPH_GRAPH_ADD_H

#include "front/graph/graph.h"

/* Adds a node that depends on `count` nodes of the graph (`edges` NULL: ordinary edges). Owns
 * what the parameters own, also on failure. CUDA_ERROR_INVALID_VALUE: not a node, a node of
 * another graph, a node named twice, or an edge that cannot be. */
CUresult front_graph_add(CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
                         size_t count, struct front_node_params *params, CUgraphNode *node);
/* Adds a child graph node that does what the executable does, because a launch of it was
 * captured. */
CUresult front_graph_add_exec(CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
                              size_t count, CUgraphExec exec, CUgraphNode *node);

#endif
