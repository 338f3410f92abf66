/* SPDX-License-Identifier: Apache-2.0 */
/* Edges of graphs. Within front/ only; under the graphs' lock. */
#ifndef FRONT_GRAPH_GRAPH_EDGES_H
#define FRONT_GRAPH_GRAPH_EDGES_H

#include "front/graph/graph_model.h"

/* CUDA_ERROR_INVALID_VALUE: the edge exists, or cannot be. */
CUresult front_edge_add(struct front_node *from, struct front_node *to,
                        const CUgraphEdgeData *data);
bool front_links_add(struct front_links *links, struct front_node *node,
                     const CUgraphEdgeData *data);
void front_links_remove(struct front_links *links, const struct front_node *node);

#endif
