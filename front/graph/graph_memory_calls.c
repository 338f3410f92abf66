/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about nodes that write or wait for values, or allocate. They use the calls for all
 * kinds. */
#include <string.h>

#include "front/front.h"
#include "front/graph/graph_model.h"

/* ---- values in memory ---- */

static CUgraphNodeParams of_values(const CUDA_BATCH_MEM_OP_NODE_PARAMS *values)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                               .memOp = {.ctx = values->ctx,
                                         .count = values->count,
                                         .paramArray = values->paramArray,
                                         .flags = values->flags}};
}

CUresult CUDAAPI cuGraphAddBatchMemOpNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_values(nodeParams);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode,
                                                CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *nodeParams_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.ctx = node->params.values.context,
                                                      .count = node->params.values.count,
                                                      .paramArray = node->params.values.ops,
                                                      .flags = node->params.values.flags};
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode,
                                                const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_values(nodeParams);
    return cuGraphNodeSetParams(hNode, &params);
}

CUresult CUDAAPI cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_values(nodeParams);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

/* ---- allocations ---- */

CUresult CUDAAPI cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                        const CUgraphNode *dependencies, size_t numDependencies,
                                        CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    memcpy(&params.alloc, nodeParams, sizeof *nodeParams);
    CUresult rc = cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
    if (rc == CUDA_SUCCESS) {
        nodeParams->dptr = params.alloc.dptr;
    }
    return rc;
}

CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode hNode,
                                              CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *params_out = node->params.alloc.wanted;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                       const CUgraphNode *dependencies, size_t numDependencies,
                                       CUdeviceptr dptr)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {.dptr = dptr}};
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *dptr_out = node->params.free;
    return front_graph_leave(CUDA_SUCCESS);
}
