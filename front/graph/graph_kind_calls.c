/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about other kinds of nodes. They translate their own structures to CUgraphNodeParams
 * and use the calls for all kinds. */
#include <string.h>

#include "front/front.h"
#include "front/graph/graph_model.h"

/* ---- copies ---- */

static CUgraphNodeParams of_copy(const CUDA_MEMCPY3D *copy, CUcontext context)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                               .memcpy = {.copyCtx = context, .copyParams = *copy}};
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    if (copyParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_copy(copyParams, ctx);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *nodeParams = node->params.copy.copy;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_copy(nodeParams, NULL);
    return cuGraphNodeSetParams(hNode, &params);
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    if (copyParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_copy(copyParams, ctx);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

/* ---- fills ---- */

static CUgraphNodeParams of_fill(const CUDA_MEMSET_NODE_PARAMS_v1 *fill, CUcontext context)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET,
                               .memset = {.dst = fill->dst,
                                          .pitch = fill->pitch,
                                          .value = fill->value,
                                          .elementSize = fill->elementSize,
                                          .width = fill->width,
                                          .height = fill->height,
                                          .ctx = context}};
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
    if (memsetParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_fill(memsetParams, ctx);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *nodeParams = node->params.fill.fill;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                            const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_fill(nodeParams, NULL);
    return cuGraphNodeSetParams(hNode, &params);
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                                CUcontext ctx)
{
    if (memsetParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_fill(memsetParams, ctx);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

/* ---- host functions ---- */

static CUgraphNodeParams of_host(const CUDA_HOST_NODE_PARAMS *host)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST,
                               .host = {.fn = host->fn, .userData = host->userData}};
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                    const CUgraphNode *dependencies, size_t numDependencies,
                                    const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_host(nodeParams);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *nodeParams = node->params.host;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode hNode,
                                          const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_host(nodeParams);
    return cuGraphNodeSetParams(hNode, &params);
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                              const CUDA_HOST_NODE_PARAMS *nodeParams)
{
    if (nodeParams == NULL) {
        return front_graph_invalid();
    }
    CUgraphNodeParams params = of_host(nodeParams);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

/* ---- empty nodes and child graphs ---- */

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                     const CUgraphNode *dependencies, size_t numDependencies)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                          const CUgraphNode *dependencies, size_t numDependencies,
                                          CUgraph childGraph)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = childGraph}};
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
    struct front_node *node;
    CUresult rc = front_node_enter(hNode, CU_GRAPH_NODE_TYPE_GRAPH, phGraph, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *phGraph = node->params.child;
    return front_graph_leave(CUDA_SUCCESS);
}

/* ---- events ---- */

static CUgraphNodeParams of_record(CUevent event)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                               .eventRecord = {.event = event}};
}

static CUgraphNodeParams of_wait(CUevent event)
{
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                               .eventWait = {.event = event}};
}

static CUresult event_get(CUgraphNode handle, CUgraphNodeType type, CUevent *event)
{
    struct front_node *node;
    CUresult rc = front_node_enter(handle, type, event, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *event = node->params.event;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                           const CUgraphNode *dependencies, size_t numDependencies,
                                           CUevent event)
{
    CUgraphNodeParams params = of_record(event);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return event_get(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult CUDAAPI cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams params = of_record(event);
    return cuGraphNodeSetParams(hNode, &params);
}

CUresult CUDAAPI cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    CUevent event)
{
    CUgraphNodeParams params = of_record(event);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult CUDAAPI cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                         const CUgraphNode *dependencies, size_t numDependencies,
                                         CUevent event)
{
    CUgraphNodeParams params = of_wait(event);
    return cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult CUDAAPI cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
    return event_get(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult CUDAAPI cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
    CUgraphNodeParams params = of_wait(event);
    return cuGraphNodeSetParams(hNode, &params);
}

CUresult CUDAAPI cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                  CUevent event)
{
    CUgraphNodeParams params = of_wait(event);
    return cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}
