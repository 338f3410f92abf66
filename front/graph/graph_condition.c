/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of conditional nodes. The library creates them, because kernels write them. They
 * live as long as a graph or an executable that owns them. */
#include "front/graph/graph_condition.h"

#include <stdlib.h>

#include "front/front.h"
#include "front/graph/graph_model.h"

static void graph_condition_drop(struct front_condition *condition)
{
    if (--condition->references == 0) {
        front_graph_host.condition_drop(condition->context, condition->graph, condition->handle);
        free(condition);
    }
}

static CUresult graph_condition_join(struct front_graph *graph, struct front_condition *condition)
{
    struct front_condition **all =
        realloc(graph->conditions, (graph->condition_count + 1) * sizeof(struct front_condition *));
    if (all == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    graph->conditions = all;
    all[graph->condition_count++] = condition;
    condition->references++;
    return CUDA_SUCCESS;
}

struct front_condition *front_condition_find(const struct front_graph *graph,
                                             CUgraphConditionalHandle handle)
{
    for (unsigned i = 0; i < graph->condition_count; i++) {
        if (graph->conditions[i]->handle == handle) {
            return graph->conditions[i];
        }
    }
    return NULL;
}

CUresult front_conditions_copy(const struct front_graph *from, struct front_graph *to)
{
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < from->condition_count; i++) {
        rc = graph_condition_join(to, from->conditions[i]);
    }
    return rc;
}

void front_conditions_drop(struct front_graph *graph)
{
    for (unsigned i = 0; i < graph->condition_count; i++) {
        graph_condition_drop(graph->conditions[i]);
    }
    free(graph->conditions);
    graph->conditions = NULL;
    graph->condition_count = 0;
}

/* The number of this graph, or of the graph whose body it is. */
static CUresult root_number(CUgraph handle, uint64_t *number)
{
    CUresult rc = front_graph_enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_graph *graph = front_graph_find(handle);
    *number = graph != NULL ? front_graph_root(graph)->serial : 0;
    return front_graph_leave(graph != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out,
                                                CUgraph hGraph, CUcontext ctx,
                                                unsigned int defaultLaunchValue, unsigned int flags)
{
    CUcontext context = ctx;
    uint64_t root;
    CUresult rc = root_number(hGraph, &root);
    if (rc == CUDA_SUCCESS &&
        (pHandle_out == NULL || (flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT) != 0)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = ctx == NULL ? front_context_need(&context) : front_host.context_check(ctx);
    }
    struct front_condition *made = rc == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) {
        return rc == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : rc;
    }
    made->context = context;
    made->graph = root;
    made->value = defaultLaunchValue;
    made->assigned = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
    rc = front_graph_host.condition_make(context, root, made->value, made->assigned, &made->handle);
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    front_graph_lock();
    struct front_graph *graph = front_graph_find(hGraph);
    made->references = 1;
    rc = graph != NULL ? graph_condition_join(graph, made) : CUDA_ERROR_INVALID_VALUE;
    *pHandle_out = made->handle;
    graph_condition_drop(made); /* the graph's reference remains */
    return front_graph_leave(rc);
}
