/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of graphs, and the topological order of nodes. Within front/ only; under the graphs' lock.
 */
#ifndef FRONT_GRAPH_GRAPH_COPY_H
#define FRONT_GRAPH_GRAPH_COPY_H

#include "front/graph/graph_model.h"

/* Whether the graph, or one within it, has nodes that cannot be copied (memory, conditions). */
bool front_graph_unique(const struct front_graph *graph);

/* Copies nodes, edges and references to user objects. `named`: the copy and its nodes get
 * handles. */
CUresult front_graph_copy(const struct front_graph *from, bool named, struct front_graph **copy);
/* The nodes in topological order, malloc-ed. If there are cycles, *sorted is less than the
 * number of nodes and *cyclic is a node in a cycle, or behind one. NULL: no memory. */
struct front_node **front_graph_sort(struct front_graph *graph, unsigned *sorted,
                                     struct front_node **cyclic);

#endif
