/* SPDX-License-Identifier: Apache-2.0 */
/* Adding nodes to graphs. */
#include "front/graph/graph_add.h"

#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "front/graph/graph_condition.h"
#include "front/graph/graph_copy.h"
#include "front/graph/graph_edges.h"
#include "front/graph/graph_exec.h"
#include "front/graph/graph_kinds.h"
#include "front/graph/graph_memory.h"
#include "front/graph/graph_model.h"
#include "front/graph/graph_params.h"

/* ---- child graphs and bodies ---- */

static CUresult graph_node_adopt(struct front_node *node, struct front_graph *graph)
{
    struct front_graph **graphs =
        realloc(node->graphs, (node->graph_count + 1) * sizeof(struct front_graph *));
    if (graphs == NULL) {
        front_graph_free(graph);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->graphs = graphs;
    node->graphs[node->graph_count++] = graph;
    graph->owner = node;
    return CUDA_SUCCESS;
}

static CUresult child_attach(struct front_node *node, const struct front_graph *child)
{
    struct front_graph *copy;
    CUresult rc = front_graph_copy(child, true, &copy);
    if (rc == CUDA_SUCCESS) {
        rc = graph_node_adopt(node, copy);
    }
    if (rc == CUDA_SUCCESS) {
        node->params.child = (CUgraph)(uintptr_t)copy->handle;
    }
    return rc;
}

static CUresult bodies_attach(struct front_node *node)
{
    struct front_conditional_node *conditional = &node->params.conditional;
    CUresult rc = CUDA_SUCCESS;
    conditional->bodies = calloc(conditional->count, sizeof *conditional->bodies);
    if (conditional->bodies == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < conditional->count; i++) {
        struct front_graph *body = NULL;
        rc = front_graph_new(true, &body);
        if (rc == CUDA_SUCCESS) {
            rc = graph_node_adopt(node, body);
        }
        if (rc == CUDA_SUCCESS) {
            conditional->bodies[i] = (CUgraph)(uintptr_t)body->handle;
        }
    }
    return rc;
}

/* ---- checks ---- */

static bool child_good(const struct front_graph *graph, const struct front_graph *child)
{
    return child != NULL && front_graph_root((struct front_graph *)graph) != child &&
           !front_graph_unique(child);
}

static bool condition_used(const struct front_graph *graph, CUgraphConditionalHandle handle)
{
    bool used = false;
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        used |= node->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL &&
                node->params.conditional.handle == handle;
        for (unsigned i = 0; !used && i < node->graph_count; i++) {
            used = condition_used(node->graphs[i], handle);
        }
    }
    return used;
}

static bool condition_good(struct front_graph *graph, const struct front_conditional_node *node)
{
    const struct front_condition *condition = NULL;
    for (struct front_graph *at = graph; at != NULL && condition == NULL;
         at = at->owner != NULL ? at->owner->graph : NULL) {
        condition = front_condition_find(at, node->handle);
    }
    return condition != NULL && condition->context == node->context &&
           !condition_used(front_graph_root(graph), node->handle);
}

/* A graph frees an address at most once. */
static bool free_good(const struct front_graph *graph, CUdeviceptr address)
{
    bool good = front_graph_memory_known(address);
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        good &= node->params.type != CU_GRAPH_NODE_TYPE_MEM_FREE || node->params.free != address;
    }
    return good;
}

/* A body takes only nodes that a device can run by itself. */
static bool body_takes(struct front_graph *graph, CUgraphNodeType type)
{
    bool in_body = false;
    for (; graph->owner != NULL; graph = graph->owner->graph) {
        in_body |= graph->owner->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    }
    switch ((int)type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return true;
    default:
        return !in_body;
    }
}

static bool node_good(struct front_graph *graph, const struct front_node_params *params,
                      const struct front_graph *child)
{
    if (!body_takes(graph, params->type)) {
        return false;
    }
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return child_good(graph, child);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return condition_good(graph, &params->conditional);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return free_good(graph, params->free);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return graph->owner == NULL;
    default:
        return true;
    }
}

/* ---- adding ---- */

static CUresult edges_attach(struct front_node *node, const CUgraphNode *after,
                             const CUgraphEdgeData *edges, size_t count)
{
    static const CUgraphEdgeData ordinary;
    CUresult rc = count != 0 && after == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        struct front_node *before = front_node_find(after[i]);
        rc = before != NULL ? front_edge_add(before, node, edges != NULL ? &edges[i] : &ordinary)
                            : CUDA_ERROR_INVALID_VALUE;
    }
    return rc;
}

/* The lock is held. `child`: of a child graph node. */
static CUresult graph_node_add(struct front_graph *graph, const CUgraphNode *after,
                               const CUgraphEdgeData *edges, size_t count,
                               struct front_node_params *params, const struct front_graph *child,
                               CUgraphNode *out)
{
    if (graph == NULL || !node_good(graph, params, child)) {
        front_node_params_free(params);
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUgraphNodeType type = params->type;
    struct front_node *node;
    CUresult rc = front_node_new(graph, params, &node);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = edges_attach(node, after, edges, count);
    if (rc == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_GRAPH) {
        rc = child_attach(node, child);
    }
    if (rc == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        rc = bodies_attach(node);
    }
    if (rc != CUDA_SUCCESS) {
        front_node_detach(node);
        front_node_free(node);
        return rc;
    }
    *out = (CUgraphNode)(uintptr_t)node->handle;
    return CUDA_SUCCESS;
}

CUresult front_graph_add(CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
                         size_t count, struct front_node_params *params, CUgraphNode *node)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        front_node_params_free(params);
        return rc;
    }
    const struct front_graph *child =
        params->type == CU_GRAPH_NODE_TYPE_GRAPH ? front_graph_find(params->child) : NULL;
    return front_graph_leave(
        graph_node_add(front_graph_find(graph), after, edges, count, params, child, node));
}

CUresult front_graph_add_exec(CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
                              size_t count, CUgraphExec exec, CUgraphNode *node)
{
    struct front_node_params params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    CUresult rc = front_graph_enter();
    return rc != CUDA_SUCCESS
               ? rc
               : front_graph_leave(graph_node_add(front_graph_find(graph), after, edges, count,
                                                  &params, front_exec_graph(exec), node));
}

/* ---- the calls ---- */

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                   const CUgraphNode *dependencies,
                                   const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                   CUgraphNodeParams *nodeParams)
{
    struct front_node_params params;
    CUresult rc = front_graph_check(hGraph);
    if (rc == CUDA_SUCCESS && (phGraphNode == NULL || nodeParams == NULL)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_node_params_make(nodeParams, NULL, NULL, &params);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    CUdeviceptr address =
        nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? params.alloc.wanted.dptr : 0;
    rc = front_graph_add(hGraph, dependencies, dependencyData, numDependencies, &params,
                         phGraphNode);
    if (rc == CUDA_SUCCESS && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
        nodeParams->alloc.dptr = address;
    }
    if (rc == CUDA_SUCCESS && nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        front_graph_lock();
        const struct front_node *node = front_node_find(*phGraphNode);
        nodeParams->conditional.phGraph_out = node != NULL ? node->params.conditional.bodies : NULL;
        rc = front_graph_leave(rc);
    }
    return rc;
}

CUresult CUDAAPI cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                const CUgraphNode *dependencies, size_t numDependencies,
                                CUgraphNodeParams *nodeParams)
{
    return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}
