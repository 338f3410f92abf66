/* SPDX-License-Identifier: Apache-2.0 */
/* The functions about graphs that front/ calls in the library. */
#include <stdlib.h>

#include "client/call/call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/context/stream.h"
#include "client/copy/copy.h"
#include "client/graph/graph.h"
#include "client/memory/range_check.h"
#include "client/module/function.h"
#include "client/module/launch.h"
#include "client/module/library.h"
#include "client/module/module.h"
#include "client/stream/host_function.h"
#include "client/stream/stream_value.h"
#include "front/front.h"

/* ---- questions ---- */

static CUresult graph_enter(CUcontext handle, struct client_call *call)
{
    struct client_context *context;
    CU_TRY(client_context_find(handle, &context));
    if (!atomic_load(&context->active)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return client_call_enter_in(call, 0, context);
}

static CUresult check_kernel(const struct front_kernel_node *kernel)
{
    struct client_call call;
    CUresult rc = graph_enter(kernel->context, &call);
    const CUlaunchConfig config = front_kernel_node_config(kernel, NULL);
    return rc == CUDA_SUCCESS ? client_launch_check(call.context, kernel->function, &config) : rc;
}

static CUresult check_copy(const struct front_copy_node *copy)
{
    struct client_call call;
    struct front_box box;
    CU_TRY(graph_enter(copy->context, &call));
    CU_TRY(front_box_3d(&copy->copy, &box));
    return client_copy_check(&call, &box);
}

static CUresult check_fill(const struct front_fill_node *node)
{
    struct client_call call;
    const CUDA_MEMSET_NODE_PARAMS_v1 *fill = &node->fill;
    uint64_t row, rows;
    CUresult rc = graph_enter(node->context, &call);
    if (rc == CUDA_SUCCESS &&
        (__builtin_mul_overflow(fill->width, (uint64_t)fill->elementSize, &row) ||
         (fill->height > 1 && fill->pitch < row) ||
         __builtin_mul_overflow(fill->height > 1 ? fill->height - 1 : 0, fill->pitch, &rows) ||
         __builtin_add_overflow(rows, row, &rows))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? client_range_check(&call, fill->dst, fill->elementSize, rows) : rc;
}

static CUresult check_values(const struct front_values_node *values)
{
    struct client_call call;
    struct front_value steps[FRONT_VALUES_MAX];
    unsigned made = 0;
    CUresult rc = graph_enter(values->context, &call);
    if (rc == CUDA_SUCCESS) {
        rc = front_values_read(values->count, values->ops, values->flags, steps, &made);
    }
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < made; i++) {
        rc = client_stream_value_check(&call, &steps[i]);
    }
    return rc;
}

static CUresult graph_check(const struct front_node_params *params)
{
    CUcontext context;
    if (front_node_touches(params, client_graph_memory_holds)) {
        return front_ready(); /* there may be nothing behind it yet */
    }
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return check_kernel(&params->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return check_copy(&params->copy);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return check_fill(&params->fill);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return check_values(&params->values);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return front_host.event_context(params->event, &context);
    default:
        return CUDA_SUCCESS;
    }
}

static CUresult function_context(CUfunction handle, CUcontext current, CUcontext *context,
                                 CUkernel *kernel)
{
    struct client_call call;
    struct client_function *function;
    uint64_t wire = (uint64_t)(uintptr_t)handle;
    if (ga_handle_type_of(wire) == GA_HANDLE_FUNCTION) {
        function = client_object_find(GA_HANDLE_FUNCTION, wire);
        const struct client_context *found = function != NULL ? function->object.context : NULL;
        if (found == NULL) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        *context = (CUcontext)(uintptr_t)found->object.handle;
        return client_library_kernel(function, kernel);
    }
    CU_TRY(graph_enter(current, &call));
    CU_TRY(client_function_resolve(call.context, handle, &function));
    *context = current;
    return client_library_kernel(function, kernel);
}

/* ---- executables ---- */

static CUresult instantiate(const struct front_plan *plan, uint64_t flags, void **exec)
{
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
        return front_unsupported("a graph that kernels launch, over the network");
    }
    struct client_graph *graph = calloc(1, sizeof *graph);
    if (graph == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    client_graph_condition_tidy();
    graph->frees = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    CUresult rc = client_graph_memory_collect(plan, &graph->allocs);
    if (rc == CUDA_SUCCESS) {
        rc = client_graph_memory_map(&graph->allocs); /* the server checks addresses */
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_graph_build(
            plan, flags & ~(uint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, graph);
    }
    client_graph_memory_unmap(&graph->allocs);
    if (rc != CUDA_SUCCESS) {
        client_graph_memory_leave(&graph->allocs);
        free(graph);
        return rc;
    }
    *exec = graph;
    return CUDA_SUCCESS;
}

/* A step that is a call reads the parameters where front/ has them. */
static CUresult exec_set(void *exec, unsigned number, const struct front_node_params *params)
{
    const struct client_graph *graph = exec;
    const struct graph_place *place = &graph->places[number];
    if (place->step == GRAPH_NOWHERE || graph->steps[place->step].segment == 0) {
        return CUDA_SUCCESS;
    }
    if (!client_graph_inside(params)) {
        return CUDA_ERROR_INVALID_VALUE; /* a copy of another kind */
    }
    CUresult rc = client_graph_memory_map(&graph->allocs);
    if (rc == CUDA_SUCCESS) {
        rc = client_graph_change(&graph->steps[place->step], place->node, params);
    }
    client_graph_memory_unmap(&graph->allocs);
    return rc;
}

static CUresult exec_enable(void *exec, unsigned number, bool on)
{
    const struct client_graph *graph = exec;
    const struct graph_place *place = &graph->places[number];
    struct graph_step *step = &graph->steps[place->step];
    if (step->segment != 0) {
        return client_graph_enable(step->segment, place->node, on);
    }
    step->off = !on;
    return CUDA_SUCCESS;
}

/* Nothing is left to be brought to the server: instantiate has done it. */
static CUresult upload(void *exec, CUstream stream)
{
    (void)exec;
    struct front_stream_facts facts;
    return front_host.stream(stream, &facts);
}

/* Where it was launched last. */
static CUresult graph_remember(struct client_graph *graph, CUstream stream)
{
    struct front_stream_facts facts;
    struct client_context *context;
    struct client_stream *found;
    uint64_t wire;
    CU_TRY(front_host.stream(stream, &facts));
    CU_TRY(client_context_find(facts.context, &context));
    CU_TRY(client_stream_find(context, stream, &found, &wire));
    graph->launched = true;
    graph->stream = (CUstream)(uintptr_t)wire;
    graph->context = facts.context;
    return CUDA_SUCCESS;
}

static CUresult graph_launch(void *exec, CUstream stream)
{
    struct client_graph *graph = exec;
    CUresult rc = graph_remember(graph, stream);
    if (rc == CUDA_SUCCESS) {
        rc = client_graph_memory_launch(&graph->allocs, graph->frees);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    for (uint32_t i = 0; rc == CUDA_SUCCESS && i < graph->step_count; i++) {
        const struct graph_step *step = &graph->steps[i];
        if (step->segment != 0) {
            rc = client_graph_launch(step->segment, stream);
        } else if (!step->off) {
            rc = step->late ? cuStreamSynchronize(stream) : CUDA_SUCCESS;
            rc = rc == CUDA_SUCCESS ? client_graph_call(step->params, stream) : rc;
        }
    }
    if (rc != CUDA_SUCCESS) {
        client_graph_memory_undo(&graph->allocs);
    }
    return rc;
}

/* When the last launch is done nobody uses the memory of its nodes, and front/ wants to hear of it:
 * a call of its own in the stream. */
struct farewell {
    struct client_graph *graph; /* owned */
    void (*gone)(void *);
    void *data;
};

static void depart(struct client_graph *graph, void (*gone)(void *), void *data)
{
    client_graph_memory_leave(&graph->allocs);
    free(graph);
    if (gone != NULL) {
        gone(data);
    }
}

static void CUDA_CB farewell_say(CUstream stream, CUresult status, void *data)
{
    struct farewell *farewell = data;
    (void)stream;
    (void)status;
    depart(farewell->graph, farewell->gone, farewell->data);
    free(farewell);
}

static bool farewell_submit(struct client_graph *graph, void (*gone)(void *), void *data)
{
    struct farewell *farewell = malloc(sizeof *farewell);
    if (farewell == NULL || front_context_push(graph->context) != CUDA_SUCCESS) {
        free(farewell);
        return false;
    }
    *farewell = (struct farewell){.graph = graph, .gone = gone, .data = data};
    const struct front_host_call call = {
        .callback = farewell_say, .stream = graph->stream, .data = farewell};
    CUresult rc = client_host_submit_own(graph->stream, &call);
    (void)cuCtxPopCurrent_v2(NULL);
    if (rc != CUDA_SUCCESS) {
        free(farewell);
    }
    return rc == CUDA_SUCCESS;
}

static void exec_destroy(void *exec, void (*gone)(void *), void *data)
{
    struct client_graph *graph = exec;
    client_graph_drop(graph);
    if (!graph->launched || client_call_exiting() || !farewell_submit(graph, gone, data)) {
        depart(graph, gone, data);
    }
    client_graph_condition_tidy();
    client_graph_memory_tidy();
}

const struct front_graph_host front_graph_host = {
    .check = graph_check,
    .function_context = function_context,
    .condition_make = client_graph_condition_make,
    .condition_drop = client_graph_condition_drop,
    .memory_reserve = client_graph_memory_reserve,
    .memory_drop = client_graph_memory_drop,
    .instantiate = instantiate,
    .exec_set = exec_set,
    .exec_enable = exec_enable,
    .upload = upload,
    .launch = graph_launch,
    .exec_destroy = exec_destroy,
};
