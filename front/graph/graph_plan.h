/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of graphs. Within front/ only; under the graphs' lock. */
#ifndef FRONT_GRAPH_GRAPH_PLAN_H
#define FRONT_GRAPH_GRAPH_PLAN_H

#include "front/graph/graph_model.h"

/* Makes the plan and numbers the nodes. CUDA_ERROR_INVALID_VALUE: there are cycles; *cyclic is a
 * node in one, or behind one. */
CUresult front_plan_make(struct front_graph *graph, struct front_plan *plan,
                         struct front_node **cyclic);
void front_plan_free(struct front_plan *plan);

#endif
