/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of executables. Within front/ only. The executable's lock must be held. */
#ifndef FRONT_GRAPH_GRAPH_CHANGE_H
#define FRONT_GRAPH_GRAPH_CHANGE_H

#include "front/graph/graph_exec.h"

CUgraphExecUpdateResult front_change_allowed(const struct front_exec *exec,
                                             const struct front_node_params *old,
                                             const struct front_node_params *now);
/* Passes the new parameters to the library and, on success, to the node. Owns them in any case. */
CUresult front_change_apply(struct front_exec *exec, struct front_node *node,
                            struct front_node_params *params);

#endif
