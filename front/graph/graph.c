/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about graphs as objects: creating, destroying and querying them. */
#include "front/graph/graph.h"

#include <string.h>

#include "front/front.h"
#include "front/graph/graph_model.h"

/* ---- graphs ---- */

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_graph *made = NULL;
    rc = phGraph == NULL || flags != 0 ? CUDA_ERROR_INVALID_VALUE : front_graph_new(true, &made);
    if (rc == CUDA_SUCCESS) {
        *phGraph = (CUgraph)(uintptr_t)made->handle;
    }
    return front_graph_leave(rc);
}

CUresult front_graph_make(CUgraph *graph)
{
    return cuGraphCreate(graph, 0);
}

/* A graph that belongs to a node is destroyed with the node. */
CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    front_graph_lock();
    struct front_graph *graph = front_graph_find(hGraph);
    if (graph == NULL || graph->owner != NULL) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    front_graph_free(graph);
    return front_graph_leave(front_host.process_state());
}

CUresult front_graph_destroy(CUgraph graph)
{
    return cuGraphDestroy(graph);
}

CUresult front_graph_check(CUgraph graph)
{
    CUresult rc = front_graph_enter();
    return rc == CUDA_SUCCESS
               ? front_graph_leave(front_graph_find(graph) != NULL ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE)
               : rc;
}

CUresult front_graph_holds(CUgraph handle, const CUgraphNode *all, size_t count)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_graph *graph = front_graph_find(handle);
    bool good = graph != NULL && (all != NULL || count == 0);
    for (size_t i = 0; good && i < count; i++) {
        const struct front_node *node = front_node_find(all[i]);
        good = node != NULL && node->graph == graph;
    }
    return front_graph_leave(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- queries ---- */

/* A list without room is an error, as with NVIDIA's driver. */
static CUresult nodes_list(CUgraph handle, CUgraphNode *to, size_t *count, bool roots)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_graph *graph = front_graph_find(handle);
    if (graph == NULL || count == NULL || (to != NULL && *count == 0)) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    size_t found = 0;
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        if (!roots || node->before.count == 0) {
            if (to != NULL && found == *count) {
                break;
            }
            if (to != NULL) {
                to[found] = (CUgraphNode)(uintptr_t)node->handle;
            }
            found++;
        }
    }
    if (to != NULL && found < *count) {
        memset(to + found, 0, (*count - found) * sizeof *to);
    }
    *count = found;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode *list, size_t *numNodes)
{
    return nodes_list(hGraph, list, numNodes, false);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    return nodes_list(hGraph, rootNodes, numRootNodes, true);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_node *node = front_node_find(hNode);
    if (node == NULL || type == NULL) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *type = node->params.type;
    return front_graph_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode hNode)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    front_graph_lock();
    struct front_node *node = front_node_find(hNode);
    if (node == NULL || node->graph->memory_nodes != 0) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    node->graph->conditional_nodes -= node->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    front_node_detach(node);
    front_node_free(node);
    return front_graph_leave(front_host.process_state());
}
