/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as objects: creating, copying, destroying and querying them. */
#include "front/graph/graph_model.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"

#define GRAPHS_MAX 1048576u
#define NODES_MAX  16777216u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_handle_table graphs, nodes;
static uint64_t next_serial;

void front_graph_lock(void)
{
    pthread_mutex_lock(&lock);
    if (graphs.limit == 0) {
        ga_handle_table_init(&graphs, GA_HANDLE_GRAPH, GRAPHS_MAX);
        ga_handle_table_init(&nodes, GA_HANDLE_NODE, NODES_MAX);
    }
}

CUresult front_graph_enter(void)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS) {
        front_graph_lock();
    }
    return rc;
}

CUresult front_graph_invalid(void)
{
    CUresult rc = front_graph_enter();
    return rc == CUDA_SUCCESS ? front_graph_leave(CUDA_ERROR_INVALID_VALUE) : rc;
}

CUresult front_graph_leave(CUresult rc)
{
    struct ga_list dying;
    front_objects_take(&dying);
    pthread_mutex_unlock(&lock);
    front_objects_end(&dying);
    return rc;
}

struct front_graph *front_graph_find(CUgraph handle)
{
    return ga_handle_table_find(&graphs, (uint64_t)(uintptr_t)handle);
}

struct front_node *front_node_find(CUgraphNode handle)
{
    return ga_handle_table_find(&nodes, (uint64_t)(uintptr_t)handle);
}

CUresult front_node_enter(CUgraphNode handle, CUgraphNodeType type, const void *out,
                          struct front_node **node)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *node = front_node_find(handle);
    return *node != NULL && (*node)->params.type == type && out != NULL
               ? CUDA_SUCCESS
               : front_graph_leave(CUDA_ERROR_INVALID_VALUE);
}

struct front_graph *front_graph_root(struct front_graph *graph)
{
    while (graph->owner != NULL) {
        graph = graph->owner->graph;
    }
    return graph;
}

/* ---- nodes ---- */

CUresult front_node_new(struct front_graph *graph, struct front_node_params *params,
                        struct front_node **node)
{
    struct front_node *made = calloc(1, sizeof *made);
    if (made == NULL ||
        (graph->handle != 0 && ga_handle_table_make(&nodes, made, &made->handle) != GA_OK)) {
        free(made);
        front_node_params_free(params);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->serial = ++next_serial;
    made->graph = graph;
    made->params = *params;
    ga_list_append(&graph->nodes, &made->in_graph);
    graph->node_count++;
    graph->memory_nodes +=
        params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
    graph->conditional_nodes += params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    *node = made;
    return CUDA_SUCCESS;
}

void front_node_detach(struct front_node *node)
{
    for (unsigned i = 0; i < node->before.count; i++) {
        front_links_remove(&node->before.items[i].node->after, node);
    }
    for (unsigned i = 0; i < node->after.count; i++) {
        front_links_remove(&node->after.items[i].node->before, node);
    }
    node->before.count = node->after.count = 0;
    node->graph->node_count--;
    ga_list_remove(&node->in_graph);
}

/* Frees a node that is in no list and on no edge. */
void front_node_free(struct front_node *node)
{
    for (unsigned i = 0; i < node->graph_count; i++) {
        front_graph_free(node->graphs[i]);
    }
    if (node->handle != 0) {
        (void)ga_handle_table_remove(&nodes, node->handle);
    }
    front_node_params_free(&node->params);
    free(node->graphs);
    free(node->before.items);
    free(node->after.items);
    free(node);
}

/* ---- graphs ---- */

CUresult front_graph_new(bool named, struct front_graph **graph)
{
    struct front_graph *made = calloc(1, sizeof *made);
    if (made == NULL || (named && ga_handle_table_make(&graphs, made, &made->handle) != GA_OK)) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->serial = ++next_serial;
    ga_list_init(&made->nodes);
    *graph = made;
    return CUDA_SUCCESS;
}

void front_graph_free(struct front_graph *graph)
{
    ga_list_each (at, following, &graph->nodes) {
        front_node_free(ga_container(at, struct front_node, in_graph));
    }
    if (graph->handle != 0) {
        (void)ga_handle_table_remove(&graphs, graph->handle);
    }
    front_objects_drop(graph);
    front_conditions_drop(graph);
    free(graph);
}

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
