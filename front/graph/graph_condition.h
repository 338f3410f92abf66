/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of conditional nodes. Within front/ only; under the graphs' lock. */
#ifndef FRONT_GRAPH_GRAPH_CONDITION_H
#define FRONT_GRAPH_GRAPH_CONDITION_H

#include "front/graph/graph_model.h"

/* NULL: this graph has no such handle. */
struct front_condition *front_condition_find(const struct front_graph *graph,
                                             CUgraphConditionalHandle handle);
CUresult front_conditions_copy(const struct front_graph *from, struct front_graph *to);
void front_conditions_drop(struct front_graph *graph);

#endif
