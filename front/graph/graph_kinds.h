/* SPDX-License-Identifier: Apache-2.0 */
/* Node parameters of every kind, made from CUgraphNodeParams. Within front/ only; under the graphs'
 * lock. */
#ifndef FRONT_GRAPH_GRAPH_KINDS_H
#define FRONT_GRAPH_GRAPH_KINDS_H

#include "front/graph/graph_model.h"

#define FRONT_COND_TYPE_SWITCH    2   /* newer than the oldest cuda.h that we build with */
#define FRONT_NODE_ATTRIBUTES_MAX 32u /* more than there are kinds of attributes */

/* Makes node parameters from the program's, in the context that they name or else in `context`
 * (NULL: the current one). `before`: the parameters that they replace, whose attributes a kernel
 * keeps (NULL: none). Child graphs and conditions are borrowed until front_graph_add makes them
 * the node's own. */
CUresult front_node_params_make(const CUgraphNodeParams *said, CUcontext context,
                                const struct front_node_params *before,
                                struct front_node_params *params);

#endif
