/* SPDX-License-Identifier: Apache-2.0 */
/* What may change in an executable. Within front/ only; both want the executable's lock. */
#ifndef FRONT_GRAPH_GRAPH_CHANGE_H
#define FRONT_GRAPH_GRAPH_CHANGE_H

#include "front/graph/graph_exec.h"

CUgraphExecUpdateResult front_change_allowed(const struct front_exec *exec,
                                             const struct front_node_params *old,
                                             const struct front_node_params *now);
/* Gives the library the new parameters, and the node, on success. Takes them in any case. */
CUresult front_change_apply(struct front_exec *exec, struct front_node *node,
                            struct front_node_params *params);

#endif
