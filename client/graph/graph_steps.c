/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to steps. Work that the server can do by itself is gathered in as few segments as the
 * dependencies allow: first all calls that are due are steps, then all nodes that are due are a
 * segment, and so on. A segment has one context. */
#include <stdlib.h>
#include <string.h>

#include "client/graph/graph.h"
#include "front/front.h"

enum state { WAITS, CHOSEN, DONE };

struct planner {
    const struct front_plan *plan;
    struct client_graph *graph;
    uint8_t *states; /* enum state, by position */
    uint8_t *wanted; /* of the segment */
    uint32_t left;
    uint32_t conditional; /* the step with the conditional nodes */
    bool called;          /* there is a host function among the steps */
    uint32_t room;
};

static CUcontext step_context_of(const struct front_node_params *params)
{
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return params->kernel.context;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return params->copy.context;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return params->fill.context;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return params->values.context;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return params->conditional.context;
    default:
        return NULL;
    }
}

/* There is nothing to do but to keep the order. */
static bool nothing(const struct front_node_params *params)
{
    return params->type == CU_GRAPH_NODE_TYPE_EMPTY ||
           params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
           params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

/* Whether all that it comes behind is done, or is at least in the segment. */
static bool due(const struct planner *planner, unsigned at, enum state least)
{
    const struct front_plan_node *node = &planner->plan->nodes[at];
    for (unsigned i = 0; i < node->after_count; i++) {
        if (planner->states[node->after[i]] < least) {
            return false;
        }
    }
    return planner->states[at] == WAITS;
}

static struct graph_step *step_add(struct planner *planner)
{
    struct client_graph *graph = planner->graph;
    if (graph->step_count == planner->room) {
        uint32_t room = planner->room != 0 ? planner->room * 2 : 4;
        struct graph_step *steps = realloc(graph->steps, room * sizeof *steps);
        if (steps == NULL) {
            return NULL;
        }
        graph->steps = steps;
        planner->room = room;
    }
    struct graph_step *step = &graph->steps[graph->step_count++];
    *step = (struct graph_step){0};
    return step;
}

static bool reads_host(const struct front_node_params *params)
{
    return params->type == CU_GRAPH_NODE_TYPE_MEMCPY &&
           (params->copy.copy.srcMemoryType == CU_MEMORYTYPE_HOST ||
            params->copy.copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED);
}

/* The order of a plan fits the dependencies: one walk finds all calls that are due. */
static CUresult take_calls(struct planner *planner)
{
    const struct front_plan *plan = planner->plan;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct front_node_params *params = plan->nodes[i].params;
        bool empty = nothing(params);
        if ((!empty && client_graph_inside(params)) || !due(planner, i, DONE)) {
            continue;
        }
        planner->states[i] = DONE;
        planner->left--;
        if (empty) {
            continue;
        }
        struct graph_step *step = step_add(planner);
        if (step == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        step->params = params;
        step->late = planner->called && reads_host(params);
        planner->called = planner->called || params->type == CU_GRAPH_NODE_TYPE_HOST;
        planner->graph->places[plan->nodes[i].number].step = planner->graph->step_count - 1;
    }
    return CUDA_SUCCESS;
}

static bool conditional_taken(const struct planner *planner)
{
    bool found = false;
    for (unsigned i = 0; i < planner->plan->count; i++) {
        found |= planner->wanted[i] != 0 &&
                 planner->plan->nodes[i].params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    }
    return found;
}

static CUresult take_segment(struct planner *planner, uint64_t flags)
{
    const struct front_plan *plan = planner->plan;
    CUcontext context = NULL;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct front_node_params *params = plan->nodes[i].params;
        bool empty = nothing(params);
        bool fits = empty ? context != NULL
                          : client_graph_inside(params) &&
                                (context == NULL || context == step_context_of(params));
        planner->wanted[i] = fits && due(planner, i, CHOSEN);
        if (planner->wanted[i]) {
            planner->states[i] = CHOSEN;
            planner->left--;
            context = context == NULL ? step_context_of(params) : context;
        }
    }
    if (context == NULL) {
        return CUDA_SUCCESS; /* nothing is left */
    }
    struct graph_step *step = step_add(planner);
    if (step == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    step->context = context;
    for (unsigned i = 0; i < plan->count; i++) {
        if (planner->states[i] == CHOSEN) {
            planner->states[i] = DONE;
        }
    }
    if (conditional_taken(planner)) {
        if (planner->conditional != GRAPH_NOWHERE) {
            return front_unsupported("conditional nodes before and behind a call of the program's, "
                                     "or of different contexts, in a graph over the network");
        }
        planner->conditional = planner->graph->step_count - 1;
    }
    return client_graph_segment(plan, planner->wanted, flags, planner->graph->step_count - 1,
                                planner->graph);
}

/* Whether the kernel has the handle among its parameters, as it lies there if it has it by value.
 */
static bool kernel_names(const struct front_kernel_node *kernel, CUgraphConditionalHandle handle)
{
    bool found = false;
    for (uint32_t at = 0; at + sizeof handle <= kernel->param_bytes; at += sizeof handle) {
        found |= memcmp(kernel->param_block + at, &handle, sizeof handle) == 0;
    }
    return found;
}

/* The variable has its value from a launch of the segment that has the node: kernels that set it
 * must be in there. */
static CUresult kernels_check(const struct planner *planner)
{
    const struct front_plan *plan = planner->plan;
    const struct graph_place *places = planner->graph->places;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct front_node_params *node = plan->nodes[i].params;
        if (node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) {
            continue;
        }
        for (unsigned j = 0; j < plan->count; j++) {
            const struct front_node_params *other = plan->nodes[j].params;
            if (other->type == CU_GRAPH_NODE_TYPE_KERNEL &&
                places[plan->nodes[j].number].step != planner->conditional &&
                kernel_names(&other->kernel, node->conditional.handle)) {
                return front_unsupported("a conditional node behind a call of the program's that "
                                         "follows the kernel which decides, in a graph over the "
                                         "network");
            }
        }
    }
    return CUDA_SUCCESS;
}

/* Can the server run all bodies by itself? `context`: of the node with this one; NULL: it is none.
 */
static CUresult bodies_check(const struct front_plan *plan, CUcontext context)
{
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < plan->count; i++) {
        const struct front_plan_node *node = &plan->nodes[i];
        if (context != NULL && !nothing(node->params)) {
            if (!client_graph_inside(node->params)) {
                return front_unsupported("a copy to or from the program's memory, or of several "
                                         "slices, in a conditional node, over the network");
            }
            if (step_context_of(node->params) != context) {
                return front_unsupported("a conditional node with nodes of another context, over "
                                         "the network");
            }
        }
        for (unsigned j = 0; rc == CUDA_SUCCESS && j < node->body_count; j++) {
            rc = bodies_check(&node->bodies[j], step_context_of(node->params));
        }
    }
    return rc;
}

static uint32_t nodes_of(const struct front_plan *plan)
{
    uint32_t count = plan->count;
    for (unsigned i = 0; i < plan->count; i++) {
        for (unsigned j = 0; j < plan->nodes[i].body_count; j++) {
            count += nodes_of(&plan->nodes[i].bodies[j]);
        }
    }
    return count;
}

CUresult client_graph_build(const struct front_plan *plan, uint64_t flags,
                            struct client_graph *graph)
{
    struct planner planner = {
        .plan = plan, .graph = graph, .left = plan->count, .conditional = GRAPH_NOWHERE};
    CUresult rc = bodies_check(plan, NULL);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    planner.states = calloc((size_t)plan->count + 1, 1);
    planner.wanted = calloc((size_t)plan->count + 1, 1);
    graph->node_count = nodes_of(plan);
    graph->places = malloc(((size_t)graph->node_count + 1) * sizeof *graph->places);
    if (planner.states == NULL || planner.wanted == NULL || graph->places == NULL) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; rc == CUDA_SUCCESS && i < graph->node_count; i++) {
        graph->places[i] = (struct graph_place){.step = GRAPH_NOWHERE};
    }
    while (rc == CUDA_SUCCESS && planner.left != 0) {
        rc = take_calls(&planner);
        if (rc == CUDA_SUCCESS) {
            rc = take_segment(&planner, flags);
        }
    }
    if (rc == CUDA_SUCCESS && planner.conditional != GRAPH_NOWHERE) {
        rc = kernels_check(&planner);
    }
    free(planner.states);
    free(planner.wanted);
    if (rc != CUDA_SUCCESS) {
        client_graph_drop(graph);
    }
    return rc;
}

void client_graph_drop(struct client_graph *graph)
{
    for (uint32_t i = 0; i < graph->step_count; i++) {
        if (graph->steps[i].segment != 0) {
            client_graph_forget(graph->steps[i].segment);
        }
    }
    free(graph->steps);
    free(graph->places);
}
