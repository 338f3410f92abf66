/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: the part of a graph that the server runs by itself. A segment is said by the calls that
 * its nodes are, put into a stream that captures on the server (api/cuda/capture.api). */
#include <stdlib.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/graph/graph.h"
#include "client/memory/address.h"
#include "client/memory/mirror.h"
#include "client/stream/stream_value.h"
#include "front/front.h"

const struct client_object_type client_exec_type = {.bytes = sizeof(struct client_object)};

/* ---- what nodes are as calls ---- */

/* One slice of device memory or arrays on both sides: one call of the driver. */
static bool copy_inside(const CUDA_MEMCPY3D *copy)
{
    struct front_box box;
    if (front_box_3d(copy, &box) != CUDA_SUCCESS || box.width == 0 || box.depth != 1) {
        return false;
    }
    const struct front_side *sides[2] = {&box.from, &box.to};
    for (int i = 0; i < 2; i++) {
        bool device =
            sides[i]->place == FRONT_ARRAY || sides[i]->place == FRONT_DEVICE ||
            (sides[i]->place == FRONT_UNIFIED && client_memory_session(sides[i]->start) != NULL);
        if (!device) {
            return false;
        }
    }
    return true;
}

/* One value, in device memory. */
static bool value_inside(const struct front_values_node *values)
{
    struct front_value step;
    unsigned made = 0;
    return values->count == 1 && values->ops[0].operation != CU_STREAM_MEM_OP_BARRIER &&
           front_values_read(1, values->ops, values->flags, &step, &made) == CUDA_SUCCESS &&
           made == 1 && !client_stream_value_host(&step);
}

bool client_graph_inside(const struct front_node_params *params)
{
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return copy_inside(&params->copy.copy);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return value_inside(&params->values);
    default:
        return false;
    }
}

static CUresult call_kernel(const struct front_kernel_node *kernel, CUstream stream)
{
    const CUlaunchConfig config = front_kernel_node_config(kernel, stream);
    return cuLaunchKernelEx(&config, kernel->function, kernel->param_values, NULL);
}

static CUresult call_fill(const CUDA_MEMSET_NODE_PARAMS_v1 *fill, CUstream stream)
{
    bool rows = fill->height > 1;
    switch (fill->elementSize) {
    case 1:
        return rows ? cuMemsetD2D8Async(fill->dst, fill->pitch, (unsigned char)fill->value,
                                        fill->width, fill->height, stream)
                    : cuMemsetD8Async(fill->dst, (unsigned char)fill->value, fill->width, stream);
    case 2:
        return rows ? cuMemsetD2D16Async(fill->dst, fill->pitch, (unsigned short)fill->value,
                                         fill->width, fill->height, stream)
                    : cuMemsetD16Async(fill->dst, (unsigned short)fill->value, fill->width, stream);
    default:
        return rows ? cuMemsetD2D32Async(fill->dst, fill->pitch, fill->value, fill->width,
                                         fill->height, stream)
                    : cuMemsetD32Async(fill->dst, fill->value, fill->width, stream);
    }
}

/* For a stream of another context: a stream of the event's context records it, behind what is
 * there, and what follows there comes behind the record. */
static CUresult record_beside(CUevent event, CUcontext context, CUstream stream, CUcontext here)
{
    CUevent before = NULL;
    CUstream beside = NULL;
    CU_TRY(front_context_push(here));
    CUresult rc = cuEventCreate(&before, CU_EVENT_DISABLE_TIMING);
    rc = rc == CUDA_SUCCESS ? cuEventRecord(before, stream) : rc;
    (void)cuCtxPopCurrent_v2(NULL);
    rc = rc == CUDA_SUCCESS ? front_context_push(context) : rc;
    if (rc == CUDA_SUCCESS) {
        rc = cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING);
        rc = rc == CUDA_SUCCESS ? cuStreamWaitEvent(beside, before, 0) : rc;
        rc = rc == CUDA_SUCCESS ? cuEventRecord(event, beside) : rc;
        (void)cuCtxPopCurrent_v2(NULL);
    }
    rc = rc == CUDA_SUCCESS ? cuStreamWaitEvent(stream, event, 0) : rc;
    if (beside != NULL) {
        (void)cuStreamDestroy_v2(beside);
    }
    if (before != NULL) {
        (void)cuEventDestroy_v2(before);
    }
    return rc;
}

static CUresult call_record(CUevent event, CUstream stream)
{
    struct front_stream_facts facts;
    CUcontext context;
    CUresult rc = front_host.stream(stream, &facts);
    rc = rc == CUDA_SUCCESS ? front_host.event_context(event, &context) : rc;
    if (rc != CUDA_SUCCESS || context == facts.context) {
        return rc == CUDA_SUCCESS ? cuEventRecord(event, stream) : rc;
    }
    return record_beside(event, context, stream, facts.context);
}

CUresult client_graph_call(const struct front_node_params *params, CUstream stream)
{
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return call_kernel(&params->kernel, stream);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return call_fill(&params->fill.fill, stream);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuMemcpy3DAsync_v2(&params->copy.copy, stream);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return cuStreamBatchMemOp_v2(stream, params->values.count, params->values.ops,
                                     params->values.flags);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuLaunchHostFunc(stream, params->host.fn, params->host.userData);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return call_record(params->event, stream);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuStreamWaitEvent(stream, params->event, 0);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* ---- a graph on the server ---- */

/* A stream that captures there. */
struct segment {
    bool pushed; /* its context */
    CUstream stream;
    uint32_t count; /* nodes so far */
};

/* The next call travels in the current context, which is that of the segment. */
#define POST(name, args, rc)                                                                       \
    do {                                                                                           \
        struct client_call call_;                                                                  \
        rc = client_call_enter(&call_, API_OP_##name);                                             \
        if (rc == CUDA_SUCCESS) {                                                                  \
            rc = client_post_##name(&call_, args);                                                 \
        }                                                                                          \
    } while (0)

/* `of`: the graph that the variables of its conditional nodes belong to; NULL: it has none. */
static CUresult segment_begin(CUcontext context, const uint64_t *of, struct segment *segment)
{
    CUresult rc = front_context_push(context);
    *segment = (struct segment){.pushed = rc == CUDA_SUCCESS};
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = cuStreamCreate(&segment->stream, CU_STREAM_NON_BLOCKING);
    const uint64_t stream = (uint64_t)(uintptr_t)segment->stream;
    if (rc == CUDA_SUCCESS && of == NULL) {
        const struct ga_graph_begin_args args = {.stream = stream};
        POST(ga_graph_begin, &args, rc);
    } else if (rc == CUDA_SUCCESS) {
        const struct ga_graph_begin_of_args args = {.stream = stream, .graph = *of};
        POST(ga_graph_begin_of, &args, rc);
    }
    return rc;
}

/* Always follows begin, whatever that answered. */
static void segment_end(const struct segment *segment)
{
    if (segment->stream != NULL) {
        (void)cuStreamDestroy_v2(segment->stream);
    }
    if (segment->pushed) {
        (void)cuCtxPopCurrent_v2(NULL);
    }
}

static CUresult announce(struct segment *segment, bool empty, const uint32_t *after, uint32_t count)
{
    const struct ga_graph_node_args args = {.stream = (uint64_t)(uintptr_t)segment->stream,
                                            .empty = empty,
                                            .count = count,
                                            .after = after};
    CUresult rc;
    POST(ga_graph_node, &args, rc);
    segment->count++;
    return rc;
}

/* Announces a node; more dependencies than a message holds become empty nodes before it. */
static CUresult announce_many(struct segment *segment, bool empty, uint32_t *after, uint32_t count)
{
    CUresult rc = CUDA_SUCCESS;
    while (count > API_GRAPH_AFTER_MAX && rc == CUDA_SUCCESS) {
        count -= API_GRAPH_AFTER_MAX;
        rc = announce(segment, true, after + count, API_GRAPH_AFTER_MAX);
        after[count++] = segment->count - 1;
    }
    return rc == CUDA_SUCCESS ? announce(segment, empty, after, count) : rc;
}

/* The segment becomes an executable graph of the server. */
static CUresult segment_finish(const struct segment *segment, uint64_t flags, uint64_t *made)
{
    struct client_call call;
    struct ga_graph_end_args args = {.stream = (uint64_t)(uintptr_t)segment->stream,
                                     .flags = flags};
    CU_TRY(client_call_enter(&call, API_OP_ga_graph_end));
    CU_TRY(client_handle_make(&call, GA_HANDLE_EXEC, &args.exec));
    CUresult rc = client_wait_ga_graph_end(&call, &args, false);
    if (rc == CUDA_SUCCESS) {
        *made = args.exec;
    } else {
        client_handle_drop(args.exec);
    }
    return rc;
}

static CUresult say_conditional(const struct segment *segment,
                                const struct front_conditional_node *node)
{
    struct ga_graph_conditional_args args = {.stream = (uint64_t)(uintptr_t)segment->stream,
                                             .type = (uint32_t)node->type,
                                             .bodies = node->count};
    uint64_t graph;
    CUresult rc;
    if (!client_graph_condition_numbers(node->context, node->handle, &args.condition, &graph)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    POST(ga_graph_conditional, &args, rc);
    return rc;
}

/* Nodes of a plan, of which `wanted` (NULL: all) are said. */
struct level {
    const struct front_plan *plan;
    const uint8_t *wanted;
    uint32_t step;
    uint32_t *positions; /* of the plan's nodes in the segment */
    uint32_t *after;     /* room */
};

static CUresult say_node(struct segment *segment, const struct level *level, unsigned at)
{
    const struct front_plan_node *node = &level->plan->nodes[at];
    uint32_t count = 0;
    for (unsigned i = 0; i < node->after_count; i++) {
        if (level->wanted == NULL || level->wanted[node->after[i]]) {
            level->after[count++] = level->positions[node->after[i]];
        }
    }
    bool empty = !client_graph_inside(node->params); /* what is else is not wanted */
    CUresult rc = announce_many(segment, empty, level->after, count);
    level->positions[at] = segment->count - 1;
    if (rc != CUDA_SUCCESS || empty) {
        return rc;
    }
    return node->params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL
               ? say_conditional(segment, &node->params->conditional)
               : client_graph_call(node->params, segment->stream);
}

static CUresult say_level(struct segment *segment, struct level *level, struct client_graph *graph);

/* The bodies of the node come after all nodes beside it. */
static CUresult say_bodies(struct segment *segment, const struct level *level, unsigned at,
                           struct client_graph *graph)
{
    const struct front_plan_node *node = &level->plan->nodes[at];
    CUresult rc = CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < node->body_count; i++) {
        const struct ga_graph_body_args args = {.stream = (uint64_t)(uintptr_t)segment->stream,
                                                .node = level->positions[at],
                                                .body = i};
        struct level body = {.plan = &node->bodies[i], .step = level->step};
        POST(ga_graph_body, &args, rc);
        if (rc == CUDA_SUCCESS) {
            rc = say_level(segment, &body, graph);
        }
    }
    return rc;
}

static CUresult say_level(struct segment *segment, struct level *level, struct client_graph *graph)
{
    const struct front_plan *plan = level->plan;
    level->after = malloc(((size_t)plan->count + 1) * sizeof *level->after);
    level->positions = malloc(((size_t)plan->count + 1) * sizeof *level->positions);
    CUresult rc =
        level->after == NULL || level->positions == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < plan->count; i++) {
        if (level->wanted == NULL || level->wanted[i]) {
            rc = say_node(segment, level, i);
            graph->places[plan->nodes[i].number] =
                (struct graph_place){.step = level->step, .node = segment->count - 1};
        }
    }
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < plan->count; i++) {
        if (level->wanted == NULL || level->wanted[i]) {
            rc = say_bodies(segment, level, i, graph);
        }
    }
    free(level->after);
    free(level->positions);
    return rc;
}

/* The graph that the wanted conditional nodes belong to; NULL: there are none. */
static CUresult graph_of(const struct front_plan *plan, const uint8_t *wanted, uint64_t *graph,
                         const uint64_t **of)
{
    uint64_t number;
    *of = NULL;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct front_node_params *params = plan->nodes[i].params;
        if (wanted[i] && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
            if (!client_graph_condition_numbers(params->conditional.context,
                                                params->conditional.handle, &number, graph)) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            *of = graph;
        }
    }
    return CUDA_SUCCESS;
}

CUresult client_graph_segment(const struct front_plan *plan, const uint8_t *wanted, uint64_t flags,
                              uint32_t step, struct client_graph *graph)
{
    struct segment segment = {0};
    struct level level = {.plan = plan, .wanted = wanted, .step = step};
    uint64_t number;
    const uint64_t *of; /* that number; NULL: there is none */
    CUresult rc = graph_of(plan, wanted, &number, &of);
    if (rc == CUDA_SUCCESS) {
        rc = segment_begin(graph->steps[step].context, of, &segment);
    }
    if (rc == CUDA_SUCCESS) {
        rc = say_level(&segment, &level, graph);
    }
    if (rc == CUDA_SUCCESS) {
        rc = segment_finish(&segment, flags, &graph->steps[step].segment);
    }
    segment_end(&segment);
    return rc;
}

CUresult client_graph_change(const struct graph_step *step, uint32_t node,
                             const struct front_node_params *params)
{
    struct segment segment;
    CUresult rc = segment_begin(step->context, NULL, &segment);
    if (rc == CUDA_SUCCESS) {
        rc = announce(&segment, false, NULL, 0);
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_graph_call(params, segment.stream);
    }
    const struct ga_graph_set_args args = {
        .stream = (uint64_t)(uintptr_t)segment.stream, .exec = step->segment, .node = node};
    if (rc == CUDA_SUCCESS) {
        POST(ga_graph_set, &args, rc);
    }
    segment_end(&segment);
    return rc;
}

/* ---- segments in use ---- */

/* The context that it belongs to; what a reset has taken is gone. */
static CUresult segment_enter(struct client_call *call, uint16_t op, uint64_t segment)
{
    const struct client_object *object = client_object_find(GA_HANDLE_EXEC, segment);
    struct client_context *context = object != NULL ? object->context : NULL;
    return context == NULL ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                           : client_call_enter_in(call, op, context);
}

CUresult client_graph_launch(uint64_t segment, CUstream stream)
{
    struct client_call call;
    struct ga_graph_launch_args args = {.exec = segment};
    const struct client_object *object = client_object_find(GA_HANDLE_EXEC, segment);
    const struct client_context *context = object != NULL ? object->context : NULL;
    CU_TRY(context == NULL ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                           : client_call_enter_handle(&call, API_OP_ga_graph_launch));
    CU_TRY(client_stream_check(&call, stream, &args.stream));
    if (client_session_conn(context->session) != call.conn) {
        CU_TRY(client_call_between_nodes("a graph"));
    }
    CU_TRY(client_mirrors_before(&call, args.stream));
    return client_post_ga_graph_launch(&call, &args);
}

CUresult client_graph_enable(uint64_t segment, uint32_t node, bool on)
{
    struct client_call call;
    const struct ga_graph_enable_args args = {.exec = segment, .node = node, .on = on};
    CU_TRY(segment_enter(&call, API_OP_ga_graph_enable, segment));
    return client_post_ga_graph_enable(&call, &args);
}

void client_graph_forget(uint64_t segment)
{
    struct client_call call;
    const struct ga_graph_destroy_args args = {.exec = segment};
    if (client_call_exiting()) {
        return; /* the end of the connection frees it */
    }
    /* Else the server has nothing of it any more. */
    if (segment_enter(&call, API_OP_ga_graph_destroy, segment) == CUDA_SUCCESS) {
        (void)client_post_ga_graph_destroy(&call, &args);
        client_handle_drop(segment);
    }
}
