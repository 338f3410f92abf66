/* From a plan to steps. What the server can do by itself is gathered in as few segments as the
 * dependencies allow: first all calls that are due are steps, then all nodes that are due are a
 * segment, and so on. A segment has one context. */
#include <stdlib.h>

#include "client/graph.h"
#include "client/state.h"
#include "front/front.h"

enum state { WAITS, CHOSEN, DONE };

struct planner {
    const struct front_plan *plan;
    struct client_graph *graph;
    uint8_t *states; /* enum state, by position */
    uint8_t *wanted; /* of the segment */
    uint32_t left;
    bool called; /* there is a host function among the steps */
    uint32_t room;
};

static CUcontext context_of(const struct front_node_params *params)
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
    default:
        return NULL;
    }
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
        bool empty = params->type == CU_GRAPH_NODE_TYPE_EMPTY;
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

static CUresult take_segment(struct planner *planner, uint64_t flags)
{
    const struct front_plan *plan = planner->plan;
    CUcontext context = NULL;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct front_node_params *params = plan->nodes[i].params;
        bool empty = params->type == CU_GRAPH_NODE_TYPE_EMPTY;
        bool fits = empty ? context != NULL
                          : client_graph_inside(params) &&
                                (context == NULL || context == context_of(params));
        planner->wanted[i] = fits && due(planner, i, CHOSEN);
        if (planner->wanted[i]) {
            planner->states[i] = CHOSEN;
            planner->left--;
            context = context == NULL ? context_of(params) : context;
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
    return client_graph_segment(plan, planner->wanted, flags, planner->graph->step_count - 1,
                                planner->graph);
}

/* What cannot be done is said by name. */
static CUresult possible(const struct front_plan *plan)
{
    for (unsigned i = 0; i < plan->count; i++) {
        switch (plan->nodes[i].params->type) {
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            return front_unsupported("a conditional node of a graph, over the network");
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            return front_unsupported("memory that a graph allocates, over the network");
        default:
            break;
        }
    }
    return CUDA_SUCCESS;
}

CUresult client_graph_build(const struct front_plan *plan, uint64_t flags,
                            struct client_graph *graph)
{
    struct planner planner = {.plan = plan, .graph = graph, .left = plan->count};
    CUresult rc = possible(plan);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    planner.states = calloc((size_t)plan->count + 1, 1);
    planner.wanted = calloc((size_t)plan->count + 1, 1);
    graph->places = malloc(((size_t)plan->count + 1) * sizeof *graph->places);
    graph->node_count = plan->count;
    if (planner.states == NULL || planner.wanted == NULL || graph->places == NULL) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (uint32_t i = 0; rc == CUDA_SUCCESS && i < plan->count; i++) {
        graph->places[i] = (struct graph_place){.step = GRAPH_NOWHERE};
    }
    while (rc == CUDA_SUCCESS && planner.left != 0) {
        rc = take_calls(&planner);
        if (rc == CUDA_SUCCESS) {
            rc = take_segment(&planner, flags);
        }
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
