/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: a graph as a list of nodes. A child graph becomes its nodes between two empty ones, so
 * its neighbours need not know its first and last nodes. */
#include "front/graph/graph_plan.h"

#include <stdlib.h>

#include "front/front.h"
#include "front/graph/graph_copy.h"
#include "front/graph/graph_model.h"

static const struct front_node_params nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

struct builder {
    struct front_plan *plan;
    unsigned room;
    unsigned *number; /* next index in the whole plan */
    struct front_node *cyclic;
};

/* Adds a node without dependencies, with room for `after` of them. NULL: no memory. */
static struct front_plan_node *plan_add(struct builder *builder,
                                        const struct front_node_params *params, unsigned after)
{
    struct front_plan *plan = builder->plan;
    if (plan->count == builder->room) {
        unsigned room = builder->room != 0 ? builder->room * 2 : 16;
        struct front_plan_node *nodes = realloc(plan->nodes, room * sizeof *nodes);
        if (nodes == NULL) {
            return NULL;
        }
        plan->nodes = nodes;
        builder->room = room;
    }
    unsigned *list = calloc((size_t)after + 1, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    struct front_plan_node *made = &plan->nodes[plan->count++];
    *made = (struct front_plan_node){.params = params, .number = (*builder->number)++};
    made->after = list;
    return made;
}

static void plan_after(struct front_plan_node *node, unsigned position)
{
    ((unsigned *)node->after)[node->after_count++] = position;
}

static CUresult graph_flatten(struct builder *builder, struct front_graph *graph,
                              const unsigned *entry, unsigned *leaves);

/* Adds the node's dependencies, or a dependency on the child's first node. */
static void plan_after_links(struct front_plan_node *made, const struct front_node *node,
                             const unsigned *entry)
{
    for (unsigned i = 0; i < node->before.count; i++) {
        plan_after(made, node->before.items[i].node->mark);
    }
    if (node->before.count == 0 && entry != NULL) {
        plan_after(made, *entry);
    }
}

static CUresult child_flatten(struct builder *builder, struct front_node *node,
                              const unsigned *entry)
{
    struct front_graph *child = node->graphs[0];
    struct front_plan_node *begin = plan_add(builder, &nothing, node->before.count + 1);
    if (begin == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    plan_after_links(begin, node, entry);
    unsigned at = builder->plan->count - 1, leaves = 0;
    CUresult rc = graph_flatten(builder, child, &at, &leaves);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_plan_node *end = plan_add(builder, &nothing, leaves + 1);
    if (end == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_each (in, following, &child->nodes) {
        const struct front_node *last = ga_container(in, struct front_node, in_graph);
        if (last->after.count == 0) {
            plan_after(end, last->mark);
        }
    }
    if (leaves == 0) {
        plan_after(end, at);
    }
    node->mark = builder->plan->count - 1;
    return CUDA_SUCCESS;
}

static CUresult bodies_make(struct builder *builder, const struct front_node *node,
                            unsigned position)
{
    struct front_plan *bodies = calloc(node->graph_count, sizeof *bodies);
    if (bodies == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    builder->plan->nodes[position].bodies = bodies;
    builder->plan->nodes[position].body_count = node->graph_count;
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < node->graph_count; i++) {
        struct builder body = {.plan = &bodies[i], .number = builder->number};
        unsigned leaves;
        rc = graph_flatten(&body, node->graphs[i], NULL, &leaves);
        builder->cyclic = body.cyclic;
    }
    return rc;
}

static CUresult node_flatten(struct builder *builder, struct front_node *node,
                             const unsigned *entry)
{
    if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
        return child_flatten(builder, node, entry);
    }
    struct front_plan_node *made = plan_add(builder, &node->params, node->before.count + 1);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    plan_after_links(made, node, entry);
    node->mark = builder->plan->count - 1;
    node->number = made->number;
    return node->graph_count != 0 ? bodies_make(builder, node, node->mark) : CUDA_SUCCESS;
}

/* Sets the marks of the nodes to their positions. `entry`: the dependency of the roots. */
static CUresult graph_flatten(struct builder *builder, struct front_graph *graph,
                              const unsigned *entry, unsigned *leaves)
{
    unsigned sorted;
    struct front_node **order = front_graph_sort(graph, &sorted, &builder->cyclic);
    if (order == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = sorted == graph->node_count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    *leaves = 0;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < sorted; i++) {
        rc = node_flatten(builder, order[i], entry);
        *leaves += order[i]->after.count == 0;
    }
    free(order);
    return rc;
}

CUresult front_plan_make(struct front_graph *graph, struct front_plan *plan,
                         struct front_node **cyclic)
{
    unsigned number = 0, leaves;
    struct builder builder = {.plan = plan, .number = &number};
    *plan = (struct front_plan){0};
    CUresult rc = graph_flatten(&builder, graph, NULL, &leaves);
    *cyclic = builder.cyclic;
    if (rc != CUDA_SUCCESS) {
        front_plan_free(plan);
    }
    return rc;
}

void front_plan_free(struct front_plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++) {
        struct front_plan_node *node = &plan->nodes[i];
        for (unsigned j = 0; j < node->body_count; j++) {
            front_plan_free((struct front_plan *)&node->bodies[j]);
        }
        free((void *)node->bodies);
        free((void *)node->after);
    }
    free(plan->nodes);
    *plan = (struct front_plan){0};
}
