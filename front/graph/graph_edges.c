/* SPDX-License-Identifier: Apache-2.0 */
/* Edges of graphs. Cycles are found when the graph is instantiated, as cuda.h demands.
 * Programmatic edges, whose end waits for less than the whole kernel before it, are kept and run
 * as ordinary ones: the overlap is allowed, not required. */

#include "front/graph/graph_edges.h"

#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "front/graph/graph_model.h"

static const CUgraphEdgeData ordinary;

bool front_links_add(struct front_links *links, struct front_node *node,
                     const CUgraphEdgeData *data)
{
    if (links->count == links->room) {
        unsigned room = links->room != 0 ? links->room * 2 : 2;
        struct front_link *items = realloc(links->items, room * sizeof *items);
        if (items == NULL) {
            return false;
        }
        links->items = items;
        links->room = room;
    }
    links->items[links->count++] = (struct front_link){.node = node, .data = *data};
    return true;
}

/* NULL: there is none. */
static struct front_link *links_find(struct front_links *links, const struct front_node *node)
{
    for (unsigned i = 0; i < links->count; i++) {
        if (links->items[i].node == node) {
            return &links->items[i];
        }
    }
    return NULL;
}

void front_links_remove(struct front_links *links, const struct front_node *node)
{
    struct front_link *found = links_find(links, node);
    if (found != NULL) {
        struct front_link *end = links->items + --links->count;
        memmove(found, found + 1, (size_t)(end - found) * sizeof *found);
    }
}

static bool data_good(const struct front_node *from, const struct front_node *to,
                      const CUgraphEdgeData *data)
{
    static const unsigned char zeros[sizeof data->reserved];
    bool kernels = from->params.type == CU_GRAPH_NODE_TYPE_KERNEL &&
                   to->params.type == CU_GRAPH_NODE_TYPE_KERNEL;
    bool launch_order = from->params.type == CU_GRAPH_NODE_TYPE_KERNEL &&
                        data->from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
    if (data->to_port != 0 || memcmp(data->reserved, zeros, sizeof zeros) != 0) {
        return false;
    }
    switch (data->type) {
    case CU_GRAPH_DEPENDENCY_TYPE_DEFAULT:
        return data->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT;
    case CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC:
        return kernels &&
               (launch_order || data->from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    default:
        return false;
    }
}

CUresult front_edge_add(struct front_node *from, struct front_node *to, const CUgraphEdgeData *data)
{
    bool few_before = to->before.count < from->after.count; /* searches the shorter list */
    if (from == to || from->graph != to->graph || !data_good(from, to, data) ||
        links_find(few_before ? &to->before : &from->after, few_before ? from : to) != NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!front_links_add(&from->after, to, data)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!front_links_add(&to->before, from, data)) {
        from->after.count--;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static CUresult edge_remove(struct front_node *from, struct front_node *to,
                            const CUgraphEdgeData *data)
{
    const struct front_link *found = links_find(&to->before, from);
    if (found == NULL || memcmp(&found->data, data, sizeof *data) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    front_links_remove(&to->before, from);
    front_links_remove(&from->after, to);
    return CUDA_SUCCESS;
}

/* ---- changing them ---- */

typedef CUresult edge_change(struct front_node *, struct front_node *, const CUgraphEdgeData *);

/* Changes all edges or, after an error, none. */
static CUresult edges_change(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *data, size_t count, edge_change *change,
                             edge_change *back)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_graph *graph = front_graph_find(handle);
    bool good = graph != NULL && (count == 0 || (from != NULL && to != NULL)) &&
                (change != edge_remove || graph->memory_nodes == 0);
    rc = good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    size_t done = 0;
    for (; rc == CUDA_SUCCESS && done < count; done++) {
        struct front_node *first = front_node_find(from[done]), *then = front_node_find(to[done]);
        good = first != NULL && then != NULL && first->graph == graph && then->graph == graph;
        rc = good ? change(first, then, data != NULL ? &data[done] : &ordinary)
                  : CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS && done != 0) {
        for (done--; done-- > 0;) {
            (void)back(front_node_find(from[done]), front_node_find(to[done]),
                       data != NULL ? &data[done] : &ordinary);
        }
    }
    return front_graph_leave(rc);
}

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                           size_t numDependencies)
{
    return edges_change(hGraph, from, to, edgeData, numDependencies, front_edge_add, edge_remove);
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from,
                                        const CUgraphNode *to, size_t numDependencies)
{
    return cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                              const CUgraphNode *to,
                                              const CUgraphEdgeData *edgeData,
                                              size_t numDependencies)
{
    return edges_change(hGraph, from, to, edgeData, numDependencies, edge_remove, front_edge_add);
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
                                           const CUgraphNode *to, size_t numDependencies)
{
    return cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

/* ---- queries ---- As for nodes (graph.c), a list without room is an error, as with NVIDIA's
 * driver. */

struct answer {
    CUgraphNode *from, *to; /* NULL: not asked for */
    CUgraphEdgeData *data;
    size_t room, count;
    bool counts; /* only their number */
    bool lossy;
};

static void answer_add(struct answer *answer, const struct front_node *from,
                       const struct front_node *to, const CUgraphEdgeData *data)
{
    if (!answer->counts && answer->count == answer->room) {
        return;
    }
    size_t at = answer->count++;
    if (answer->counts) {
        return;
    }
    if (answer->from != NULL) {
        answer->from[at] = (CUgraphNode)(uintptr_t)from->handle;
    }
    if (answer->to != NULL) {
        answer->to[at] = (CUgraphNode)(uintptr_t)to->handle;
    }
    if (answer->data != NULL) {
        answer->data[at] = *data;
    }
    answer->lossy |= answer->data == NULL && memcmp(data, &ordinary, sizeof ordinary) != 0;
}

static CUresult answer_end(struct answer *answer, size_t *count)
{
    for (size_t i = answer->count; !answer->counts && i < answer->room; i++) {
        if (answer->from != NULL) {
            answer->from[i] = NULL;
        }
        if (answer->to != NULL) {
            answer->to[i] = NULL;
        }
    }
    *count = answer->count;
    return answer->lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                    CUgraphEdgeData *edgeData, size_t *numEdges)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_graph *graph = front_graph_find(hGraph);
    if (graph == NULL || numEdges == NULL || (from == NULL) != (to == NULL) ||
        (edgeData != NULL && from == NULL) || (from != NULL && *numEdges == 0)) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct answer answer = {
        .from = from, .to = to, .data = edgeData, .room = *numEdges, .counts = from == NULL};
    ga_list_each (at, following, &graph->nodes) {
        const struct front_node *node = ga_container(at, struct front_node, in_graph);
        for (unsigned i = 0; i < node->after.count; i++) {
            answer_add(&answer, node, node->after.items[i].node, &node->after.items[i].data);
        }
    }
    return front_graph_leave(answer_end(&answer, numEdges));
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                                 size_t *numEdges)
{
    return cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

static CUresult neighbours(CUgraphNode handle, CUgraphNode *list, CUgraphEdgeData *data,
                           size_t *count, bool before)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct front_node *node = front_node_find(handle);
    if (node == NULL || count == NULL || (data != NULL && list == NULL) ||
        (list != NULL && *count == 0)) {
        return front_graph_leave(CUDA_ERROR_INVALID_VALUE);
    }
    struct answer answer = {.from = list, .data = data, .room = *count, .counts = list == NULL};
    const struct front_links *links = before ? &node->before : &node->after;
    for (unsigned i = 0; i < links->count; i++) {
        answer_add(&answer, links->items[i].node, NULL, &links->items[i].data);
    }
    return front_graph_leave(answer_end(&answer, count));
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                               CUgraphEdgeData *edgeData, size_t *numDependencies)
{
    return neighbours(hNode, dependencies, edgeData, numDependencies, true);
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                            size_t *numDependencies)
{
    return neighbours(hNode, dependencies, NULL, numDependencies, true);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                                 CUgraphEdgeData *edgeData,
                                                 size_t *numDependentNodes)
{
    return neighbours(hNode, dependentNodes, edgeData, numDependentNodes, false);
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                              size_t *numDependentNodes)
{
    return neighbours(hNode, dependentNodes, NULL, numDependentNodes, false);
}
