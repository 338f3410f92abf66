/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of graphs, and the topological order of nodes. */

#include "front/graph/graph_copy.h"

#include <stdlib.h>

#include "front/front.h"
#include "front/graph/graph_condition.h"
#include "front/graph/graph_edges.h"
#include "front/graph/graph_model.h"
#include "front/graph/graph_params.h"
#include "front/graph/user_object.h"

static CUresult links_copy(const struct front_links *from, struct front_node *const *copies,
                           struct front_links *to)
{
    for (unsigned i = 0; i < from->count; i++) {
        if (!front_links_add(to, copies[from->items[i].node->mark], &from->items[i].data)) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

/* Copies the child graph or the bodies of a node. Handles in the parameters become those of the
 * copies. */
static CUresult graphs_copy(const struct front_node *from, bool named, struct front_node *to)
{
    if (from->graph_count == 0) {
        return CUDA_SUCCESS;
    }
    to->graphs = calloc(from->graph_count, sizeof *to->graphs);
    if (to->graphs == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; i < from->graph_count; i++) {
        CUresult rc = front_graph_copy(from->graphs[i], named, &to->graphs[i]);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        to->graphs[i]->owner = to;
        to->graph_count++;
        CUgraph handle = (CUgraph)(uintptr_t)to->graphs[i]->handle;
        if (to->params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
            to->params.child = handle;
        } else {
            to->params.conditional.bodies[i] = handle;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult node_copy(const struct front_node *from, bool named, struct front_graph *graph,
                          struct front_node **copy)
{
    struct front_node_params params;
    CUresult rc = front_node_params_copy(&from->params, &params);
    if (rc == CUDA_SUCCESS) {
        rc = front_node_new(graph, &params, copy);
    }
    if (rc == CUDA_SUCCESS) {
        (*copy)->origin = from->serial;
        (*copy)->off = from->off;
        rc = graphs_copy(from, named, *copy);
    }
    return rc;
}

static CUresult nodes_copy(const struct front_graph *from, bool named, struct front_graph *to,
                           struct front_node **copies)
{
    unsigned count = 0;
    CUresult rc = CUDA_SUCCESS;
    ga_list_each (at, following, &from->nodes) {
        struct front_node *node = ga_container(at, struct front_node, in_graph);
        node->mark = count;
        if (rc == CUDA_SUCCESS) {
            rc = node_copy(node, named, to, &copies[count++]);
        }
    }
    ga_list_each (at, following, &from->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        if (rc == CUDA_SUCCESS) {
            rc = links_copy(&node->before, copies, &copies[node->mark]->before);
        }
        if (rc == CUDA_SUCCESS) {
            rc = links_copy(&node->after, copies, &copies[node->mark]->after);
        }
    }
    return rc;
}

CUresult front_graph_copy(const struct front_graph *from, bool named, struct front_graph **copy)
{
    struct front_graph *made;
    struct front_node **copies = calloc((size_t)from->node_count + 1, sizeof(struct front_node *));
    CUresult rc = copies == NULL ? CUDA_ERROR_OUT_OF_MEMORY : front_graph_new(named, &made);
    if (rc != CUDA_SUCCESS) {
        free(copies);
        return rc;
    }
    made->origin = from->serial;
    rc = nodes_copy(from, named, made, copies);
    if (rc == CUDA_SUCCESS) {
        rc = front_objects_copy(from, made);
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_conditions_copy(from, made);
    }
    free(copies);
    if (rc != CUDA_SUCCESS) {
        front_graph_free(made);
        return rc;
    }
    *copy = made;
    return CUDA_SUCCESS;
}

/* Whether the graph or its children have memory or conditional nodes. */
bool front_graph_unique(const struct front_graph *graph)
{
    bool unique = graph->memory_nodes != 0 || graph->conditional_nodes != 0;
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        for (unsigned i = 0; !unique && i < node->graph_count; i++) {
            unique = front_graph_unique(node->graphs[i]);
        }
    }
    return unique;
}

CUresult CUDAAPI cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_graph *graph = front_graph_find(originalGraph), *made;
    if (phGraphClone == NULL || graph == NULL || front_graph_unique(graph)) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = front_graph_copy(graph, true, &made);
    if (rc == CUDA_SUCCESS) {
        *phGraphClone = (CUgraph)(uintptr_t)made->handle;
    }
    return front_graph_leave(rc);
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                        CUgraph hClonedGraph)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_node *wanted = front_node_find(hOriginalNode);
    const struct front_graph *graph = front_graph_find(hClonedGraph);
    rc = CUDA_ERROR_INVALID_VALUE;
    if (phNode != NULL && wanted != NULL && graph != NULL) {
        ga_list_each (at, following, &graph->nodes) {
            const struct front_node *node = ga_container(at, struct front_node, in_graph);
            if (node->origin == wanted->serial) {
                *phNode = (CUgraphNode)(uintptr_t)node->handle;
                rc = CUDA_SUCCESS;
            }
        }
    }
    return front_graph_leave(rc);
}

struct front_node **front_graph_sort(struct front_graph *graph, unsigned *sorted,
                                     struct front_node **cyclic)
{
    struct front_node **order = calloc((size_t)graph->node_count + 1, sizeof(struct front_node *));
    if (order == NULL) {
        return NULL;
    }
    unsigned ready = 0;
    ga_list_each (at, following, &graph->nodes) {
        struct front_node *node = ga_container(at, struct front_node, in_graph);
        node->mark = node->before.count;
        if (node->mark == 0) {
            order[ready++] = node;
        }
    }
    for (unsigned i = 0; i < ready; i++) {
        const struct front_links *after = &order[i]->after;
        for (unsigned j = 0; j < after->count; j++) {
            if (--after->items[j].node->mark == 0) {
                order[ready++] = after->items[j].node;
            }
        }
    }
    ga_list_each (at, following, &graph->nodes) {
        struct front_node *node = ga_container(at, struct front_node, in_graph);
        if (node->mark != 0) {
            *cyclic = node;
        }
    }
    *sorted = ready;
    return order;
}
