/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of nodes: made from the arguments of calls, copied and freed. */
#ifndef FRONT_GRAPH_GRAPH_PARAMS_H
#define FRONT_GRAPH_GRAPH_PARAMS_H

#include "front/graph/graph.h"

/* Makes the parameters of a kernel node. Values are copied as the function declares them. Errors
 * are those of a launch in `context`. `stream` of the configuration is ignored. `extra` and
 * `values` are as for cuLaunchKernelEx. */
CUresult front_kernel_node_make(struct front_node_params *params, CUcontext context,
                                CUfunction function, const CUlaunchConfig *config, void **values,
                                void **extra);
CUresult front_copy_node_make(struct front_node_params *params, CUcontext context,
                              const CUDA_MEMCPY3D *copy);
CUresult front_fill_node_make(struct front_node_params *params, CUcontext context,
                              const CUDA_MEMSET_NODE_PARAMS_v1 *fill);
CUresult front_values_node_make(struct front_node_params *params, CUcontext context, unsigned count,
                                const CUstreamBatchMemOpParams *ops, unsigned flags);
CUresult front_host_node_make(struct front_node_params *params, CUhostFn function, void *data);
/* CU_GRAPH_NODE_TYPE_WAIT_EVENT or _EVENT_RECORD. */
CUresult front_event_node_make(struct front_node_params *params, CUgraphNodeType type,
                               CUevent event);
/* Frees parameters that no node owns. */
void front_node_params_free(struct front_node_params *params);
CUresult front_node_params_copy(const struct front_node_params *from, struct front_node_params *to);

#endif
