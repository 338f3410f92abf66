/* SPDX-License-Identifier: Apache-2.0 */
/* cuGraphExecUpdate: pairs the nodes of an executable with those of a graph of the same shape,
 * and passes on the parameters of the latter. Pairing begins at the nodes on which nothing
 * depends, in the order in which they were added, and follows the edges in their order. All
 * checks come before the first change. */
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "front/graph/graph_change.h"
#include "front/graph/graph_exec.h"
#include "front/graph/graph_model.h"
#include "front/graph/graph_params.h"

struct pair {
    struct front_node *old, *now;
};

struct pairs {
    struct pair *items; /* of all graphs, including children and bodies */
    unsigned count, room;
    CUgraphExecUpdateResultInfo *info;
};

static CUgraphNode name_of(const struct front_node *node)
{
    return node != NULL ? (CUgraphNode)(uintptr_t)node->handle : NULL;
}

static bool graph_update_fail(struct pairs *pairs, CUgraphExecUpdateResult result,
                              const struct front_node *node, const struct front_node *from)
{
    *pairs->info = (CUgraphExecUpdateResultInfo){
        .result = result, .errorNode = name_of(node), .errorFromNode = name_of(from)};
    return false;
}

/* Marks are positions in the list, from 1; 0: not paired. */
static bool pair_add(struct pairs *pairs, struct front_node *old, struct front_node *now)
{
    if (pairs->count == pairs->room) {
        unsigned room = pairs->room != 0 ? pairs->room * 2 : 64;
        struct pair *items = realloc(pairs->items, room * sizeof *items);
        if (items == NULL) {
            return graph_update_fail(pairs, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
        }
        pairs->items = items;
        pairs->room = room;
    }
    pairs->items[pairs->count++] = (struct pair){old, now};
    old->mark = now->mark = pairs->count;
    return true;
}

static struct front_node *exit_next(const struct front_graph *graph, struct ga_list **at)
{
    while (*at != &graph->nodes) {
        struct front_node *node = ga_container(*at, struct front_node, in_graph);
        *at = (*at)->next;
        if (node->after.count == 0) {
            return node;
        }
    }
    return NULL;
}

static bool exits_pair(struct pairs *pairs, struct front_graph *old, struct front_graph *now)
{
    struct ga_list *at_old = old->nodes.next, *at_now = now->nodes.next;
    for (;;) {
        struct front_node *is = exit_next(old, &at_old), *becomes = exit_next(now, &at_now);
        if (is == NULL && becomes == NULL) {
            return true;
        }
        if (is == NULL || becomes == NULL) {
            return graph_update_fail(pairs, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, becomes,
                                     NULL);
        }
        if (!pair_add(pairs, is, becomes)) {
            return false;
        }
    }
}

static bool links_pair(struct pairs *pairs, const struct front_node *old,
                       const struct front_node *now)
{
    if (old->before.count != now->before.count) {
        return graph_update_fail(pairs, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, now, NULL);
    }
    for (unsigned i = 0; i < now->before.count; i++) {
        struct front_node *is = old->before.items[i].node, *becomes = now->before.items[i].node;
        if (is->mark != becomes->mark) {
            return graph_update_fail(pairs, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, now,
                                     becomes);
        }
        if (is->mark == 0 && !pair_add(pairs, is, becomes)) {
            return false;
        }
    }
    return true;
}

static void marks_clear(const struct front_graph *graph)
{
    ga_list_each (at, following, &graph->nodes) {
        ga_container(at, struct front_node, in_graph)->mark = 0;
    }
}

static bool graphs_pair(struct pairs *pairs, struct front_graph *old, struct front_graph *now)
{
    unsigned first = pairs->count;
    if (old->node_count != now->node_count) {
        return graph_update_fail(pairs, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    }
    marks_clear(old);
    marks_clear(now);
    if (!exits_pair(pairs, old, now)) {
        return false;
    }
    for (unsigned i = first; i < pairs->count; i++) {
        if (!links_pair(pairs, pairs->items[i].old, pairs->items[i].now)) {
            return false;
        }
    }
    unsigned end = pairs->count;
    if (end - first != now->node_count) { /* a node from which no exit is reached is in a cycle */
        return graph_update_fail(pairs, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    }
    for (unsigned i = first; i < end; i++) {
        const struct pair pair = pairs->items[i];
        for (unsigned j = 0; j < pair.old->graph_count && j < pair.now->graph_count; j++) {
            if (!graphs_pair(pairs, pair.old->graphs[j], pair.now->graphs[j])) {
                return false;
            }
        }
    }
    return true;
}

static bool changes_allowed(struct pairs *pairs, const struct front_exec *exec)
{
    for (unsigned i = 0; i < pairs->count; i++) {
        const struct front_node *now = pairs->items[i].now;
        CUgraphExecUpdateResult result =
            front_change_allowed(exec, &pairs->items[i].old->params, &now->params);
        if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
            return graph_update_fail(pairs, result, now, NULL);
        }
    }
    return true;
}

static bool bytes_same(const void *left, const void *right, size_t size)
{
    return size == 0 || memcmp(left, right, size) == 0;
}

static bool kernels_same(const struct front_kernel_node *left,
                         const struct front_kernel_node *right)
{
    return left->function == right->function && left->context == right->context &&
           memcmp(left->grid, right->grid, sizeof left->grid) == 0 &&
           memcmp(left->block, right->block, sizeof left->block) == 0 &&
           left->shared_bytes == right->shared_bytes &&
           left->attribute_count == right->attribute_count &&
           left->param_bytes == right->param_bytes &&
           bytes_same(left->attributes, right->attributes,
                      left->attribute_count * sizeof *left->attributes) &&
           bytes_same(left->param_block, right->param_block, left->param_bytes);
}

/* Whether the parameters are equal, so need not be sent. Kinds that are not listed count as
 * changed. */
static bool params_same(const struct front_node_params *left, const struct front_node_params *right)
{
    switch ((int)left->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return kernels_same(&left->kernel, &right->kernel);
    case CU_GRAPH_NODE_TYPE_HOST:
        return left->host.fn == right->host.fn && left->host.userData == right->host.userData;
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return true;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return left->event == right->event;
    default:
        return false;
    }
}

static CUresult changes_apply(const struct pairs *pairs, struct front_exec *exec)
{
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < pairs->count; i++) {
        struct front_node_params params;
        const struct pair *pair = &pairs->items[i];
        if (params_same(&pair->old->params, &pair->now->params)) {
            continue;
        }
        rc = front_node_params_copy(&pair->now->params, &params);
        if (rc == CUDA_SUCCESS) {
            rc = front_change_apply(exec, pair->old, &params);
        }
    }
    return rc;
}

/* The locks of both are held. */
static CUresult graph_update(struct front_exec *exec, struct front_graph *old,
                             struct front_graph *now, CUgraphExecUpdateResultInfo *info)
{
    struct pairs pairs = {.info = info};
    CUresult rc = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    if (graphs_pair(&pairs, old, now) && changes_allowed(&pairs, exec)) {
        rc = changes_apply(&pairs, exec);
        info->result =
            rc == CUDA_SUCCESS ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR;
    }
    free(pairs.items);
    return rc;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                      CUgraphExecUpdateResultInfo *resultInfo)
{
    struct front_exec *exec;
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult rc = front_exec_enter(hGraphExec, &exec);
    if (rc == CUDA_SUCCESS) {
        front_graph_lock();
        struct front_graph *graph = front_graph_find(hGraph);
        rc = graph != NULL && resultInfo != NULL ? graph_update(exec, exec->graph, graph, &info)
                                                 : CUDA_ERROR_INVALID_VALUE;
        rc = front_exec_leave(exec, front_graph_leave(rc));
    }
    if (resultInfo != NULL) {
        *resultInfo = info;
    }
    return rc;
}

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                   CUgraphNode *hErrorNode_out,
                                   CUgraphExecUpdateResult *updateResult_out)
{
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    CUresult rc = updateResult_out != NULL ? cuGraphExecUpdate_v2(hGraphExec, hGraph, &info)
                                           : front_graph_invalid();
    if (hErrorNode_out != NULL) {
        *hErrorNode_out = info.errorNode;
    }
    if (updateResult_out != NULL) {
        *updateResult_out = info.result;
    }
    return rc;
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                    CUgraph childGraph)
{
    struct front_exec *exec;
    CUgraphExecUpdateResultInfo info;
    CUresult rc = front_exec_enter(hGraphExec, &exec);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    front_graph_lock();
    const struct front_node *named = front_node_find(hNode);
    const struct front_node *node = named != NULL ? front_exec_node(exec, named->serial) : NULL;
    struct front_graph *graph = front_graph_find(childGraph);
    rc = node != NULL && node->params.type == CU_GRAPH_NODE_TYPE_GRAPH && graph != NULL
             ? graph_update(exec, node->graphs[0], graph, &info)
             : CUDA_ERROR_INVALID_VALUE;
    rc = front_graph_leave(rc);
    return front_exec_leave(
        exec, rc == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE ? CUDA_ERROR_INVALID_VALUE : rc);
}
