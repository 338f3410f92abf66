/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and nodes by handle, under one lock: creating, finding and freeing them. */
#include "front/graph/graph_model.h"

#include <pthread.h>
#include <stdlib.h>

#include "front/front.h"
#include "front/graph/graph_condition.h"
#include "front/graph/graph_edges.h"
#include "front/graph/graph_params.h"
#include "front/graph/user_object.h"

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
