/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs. The client says what a graph is by the calls that its nodes are: they are
 * captured by the driver, in a stream that the client has made for that. Between them it says
 * behind which nodes the next one comes.
 *
 * What a reader would get wrong: the handler of such a call (ga_launch, say) knows nothing of this.
 * Which node it became is asked afterwards: the stream's dependencies are then that node. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/calls/graph.h"
#include "server/calls/graph_condition.h"
#include "server/calls/graph_record.h"
#include "server/meter/meter.h"
#include "server/meter/meter_kernels.h"
#include "server/objects/handles.h"

void graph_build_free(struct server_app *app, struct server_graph_build *build)
{
    ledger_return(app->ledger, FIGURE_HOST_BYTES, (uint64_t)build->count * NODE_BYTES);
    frame_record_fini(&build->record, app->ledger);
    free(build->nodes);
    free(build->bodies);
    free(build);
}

void graph_build_discard(struct server_app *app, struct server_graph_build *build, CUgraph graph)
{
    if (build->of != NULL) {
        condition_graph_free(app, build->of);
    } else if (graph != NULL) {
        (void)app->driver->cuGraphDestroy(graph);
    }
    graph_build_free(app, build);
}

void graph_build_end(struct server_app *app, struct server_stream *stream)
{
    if (stream->build != NULL) {
        CUgraph graph = NULL;
        (void)app->driver->cuStreamEndCapture(stream->real, &graph);
        stream_record(stream, NULL);
        graph_build_discard(app, stream->build, graph);
        stream->build = NULL;
    }
}

void graph_build_fail(struct server_graph_build *build, CUresult rc)
{
    build->rc = build->rc == CUDA_SUCCESS ? rc : build->rc;
}

static void append(struct server_graph_build *build, CUgraphNode node)
{
    if (build->count == build->room) {
        uint32_t room = build->room != 0 ? build->room * 2 : 16;
        CUgraphNode *nodes = room <= NODES_MAX ? realloc(build->nodes, room * sizeof *nodes) : NULL;
        if (nodes == NULL) {
            graph_build_fail(build, CUDA_ERROR_OUT_OF_MEMORY);
            return;
        }
        build->nodes = nodes;
        build->room = room;
    }
    CUresult rc = ledger_charge(build->ledger, FIGURE_HOST_BYTES, NODE_BYTES);
    if (rc != CUDA_SUCCESS) {
        graph_build_fail(build, rc);
        return;
    }
    build->nodes[build->count++] = node;
}

void graph_build_collect(const struct cuda_driver *driver, const struct server_stream *stream)
{
    struct server_graph_build *build = stream->build;
    if (!build->open || build->rc != CUDA_SUCCESS) {
        return;
    }
    CUstreamCaptureStatus status;
    const CUgraphNode *nodes = NULL;
    size_t count = 0;
    build->open = false;
    CUresult rc =
        driver->cuStreamGetCaptureInfo_v2(stream->real, &status, NULL, NULL, &nodes, &count);
    if (rc == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (rc == CUDA_SUCCESS && (count != 1 || nodes[0] == build->last)) {
        rc = CUDA_ERROR_INVALID_VALUE; /* no call, or one that failed */
    }
    if (rc == CUDA_SUCCESS) {
        append(build, nodes[0]);
    } else {
        graph_build_fail(build, rc);
    }
}

struct server_stream *graph_building(struct server_app *app, uint64_t wire)
{
    struct server_stream *stream = server_stream_find(app, wire);
    return stream != NULL && stream->build != NULL ? stream : NULL;
}

CUresult server_do_ga_graph_begin(struct server_app *app, const struct ga_graph_begin_args *args)
{
    struct server_stream *stream = server_stream_find(app, args->stream);
    if (stream == NULL || stream->build != NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct server_graph_build *build = calloc(1, sizeof *build);
    if (build == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    build->ledger = app->ledger;
    /* RELAXED: calls of others are carried out meanwhile, by this thread too. */
    CUresult rc =
        app->driver->cuStreamBeginCapture_v2(stream->real, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (rc != CUDA_SUCCESS) {
        free(build);
        return rc;
    }
    stream->build = build;
    graph_record_begin(app, stream);
    return CUDA_SUCCESS;
}

/* ---- nodes */

static CUresult node_empty(const struct cuda_driver *driver, CUstream real,
                           const CUgraphNode *after, size_t count)
{
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    CUgraphNode node;
    CU_TRY(driver->cuStreamGetCaptureInfo_v2(real, &status, NULL, &graph, NULL, NULL));
    CU_TRY(driver->cuGraphAddEmptyNode(&node, graph, after, count));
    return driver->cuStreamUpdateCaptureDependencies(real, &node, 1,
                                                     CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

CUresult server_do_ga_graph_node(struct server_app *app, const struct ga_graph_node_args *args)
{
    CUgraphNode after[API_GRAPH_AFTER_MAX];
    struct server_stream *stream = graph_building(app, args->stream);
    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct server_graph_build *build = stream->build;
    graph_build_collect(app->driver, stream);
    for (uint32_t i = 0; i < args->count && build->rc == CUDA_SUCCESS; i++) {
        if (args->after[i] < build->first || args->after[i] >= build->count) {
            graph_build_fail(build, CUDA_ERROR_INVALID_VALUE);
        } else {
            after[i] = build->nodes[args->after[i]];
        }
    }
    if (build->rc == CUDA_SUCCESS) {
        graph_record_say(app, stream);
    }
    if (build->rc != CUDA_SUCCESS) {
        return build->rc;
    }
    CUresult rc = args->empty != 0
                      ? node_empty(app->driver, stream->real, after, args->count)
                      : app->driver->cuStreamUpdateCaptureDependencies(
                            stream->real, after, args->count, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    build->open = true;
    build->last = args->count == 1 ? after[0] : NULL;
    if (rc != CUDA_SUCCESS) {
        graph_build_fail(build, rc);
    }
    return rc;
}

/* ---- executables */

CUresult graph_build_whole(struct server_app *app, struct server_stream *stream, CUgraph *graph,
                           struct server_graph_build **whole)
{
    graph_build_collect(app->driver, stream);
    struct server_graph_build *build = stream->build;
    stream->build = NULL;
    stream_record(stream, NULL);
    *graph = NULL;
    CUresult rc = app->driver->cuStreamEndCapture(stream->real, graph);
    rc = build->rc != CUDA_SUCCESS ? build->rc : rc;
    if (build->of != NULL) { /* it may have ended with a body */
        *graph = condition_graph_real(build->of);
    }
    if (rc == CUDA_SUCCESS && build->record.failed) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc != CUDA_SUCCESS) {
        graph_build_discard(app, build, *graph);
        return rc;
    }
    frame_record_shrink(&build->record, app->ledger);
    *whole = build;
    return CUDA_SUCCESS;
}

static CUresult captured(struct server_app *app, uint64_t wire, CUgraph *graph,
                         struct server_graph_build **build)
{
    struct server_stream *stream = graph_building(app, wire);
    return stream != NULL ? graph_build_whole(app, stream, graph, build)
                          : CUDA_ERROR_INVALID_HANDLE;
}

CUresult graph_free(struct server_app *app, struct server_graph *graph)
{
    (void)ga_handle_table_remove(&app->objects.graphs, graph->handle);
    ga_list_remove(&graph->link);
    CUresult rc = graph->exec != NULL ? app->driver->cuGraphExecDestroy(graph->exec) : CUDA_SUCCESS;
    CUresult second = CUDA_SUCCESS;
    if (graph->of != NULL) {
        condition_graph_free(app, graph->of);
    } else if (graph->graph != NULL) {
        second = app->driver->cuGraphDestroy(graph->graph);
    }
    graph_record_free(app, graph->made_from);
    ledger_return(app->ledger, FIGURE_HOST_BYTES, (uint64_t)graph->count * NODE_BYTES);
    free(graph->nodes);
    free(graph);
    return rc != CUDA_SUCCESS ? rc : second;
}

/* Takes what was built over into the graph, and its handle. */
static CUresult executable_make(struct server_app *app, struct server_graph *graph, uint64_t flags)
{
    meter_long_call(app);
    CUresult rc = app->driver->cuGraphInstantiateWithFlags(&graph->exec, graph->graph, flags);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    enum ga_status status = ga_handle_table_take(&app->objects.graphs, graph->handle, graph);
    if (status != GA_OK) {
        (void)app->driver->cuGraphExecDestroy(graph->exec);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

CUresult server_do_ga_graph_end(struct server_app *app, const struct ga_graph_end_args *args)
{
    CUgraph real;
    struct server_graph_build *build;
    CU_TRY(captured(app, args->stream, &real, &build));
    struct server_graph *graph = calloc(1, sizeof *graph);
    struct made_graph *made = graph_record_make(args->flags, build);
    CUresult rc = graph == NULL || made == NULL ? CUDA_ERROR_OUT_OF_MEMORY
                  : app->current == NULL        ? CUDA_ERROR_INVALID_CONTEXT
                                                : CUDA_SUCCESS;
    if (rc == CUDA_SUCCESS) {
        *graph = (struct server_graph){.context = app->current,
                                       .handle = args->exec,
                                       .graph = real,
                                       .of = build->of,
                                       .count = build->count,
                                       .nodes = build->nodes,
                                       .made_from = made};
        rc = executable_make(app, graph, args->flags);
    }
    if (rc != CUDA_SUCCESS) {
        graph_record_free(app, made);
        graph_build_discard(app, build, real);
        free(graph);
        return rc;
    }
    build->nodes = NULL; /* the graph's now, as is their charge */
    build->count = 0;
    graph_build_free(app, build);
    ga_list_append(&app->current->graphs, &graph->link);
    return CUDA_SUCCESS;
}

/* ---- other parameters */

/* `from`: the only node of a graph, which has the parameters that `node` gets. */
static CUresult update(const struct cuda_driver *driver, const struct server_graph *graph,
                       CUgraphNode node, CUgraphNode from, CUcontext context)
{
    CUgraphNodeType type;
    CUresult rc = driver->cuGraphNodeGetType(from, &type);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
        CUDA_KERNEL_NODE_PARAMS_v2 params;
        rc = driver->cuGraphKernelNodeGetParams_v2(from, &params);
        return rc == CUDA_SUCCESS
                   ? driver->cuGraphExecKernelNodeSetParams_v2(graph->exec, node, &params)
                   : rc;
    }
    if (type == CU_GRAPH_NODE_TYPE_MEMCPY) {
        CUDA_MEMCPY3D params;
        rc = driver->cuGraphMemcpyNodeGetParams(from, &params);
        return rc == CUDA_SUCCESS
                   ? driver->cuGraphExecMemcpyNodeSetParams(graph->exec, node, &params, context)
                   : rc;
    }
    if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
        CUDA_MEMSET_NODE_PARAMS_v1 params;
        rc = driver->cuGraphMemsetNodeGetParams(from, &params);
        return rc == CUDA_SUCCESS
                   ? driver->cuGraphExecMemsetNodeSetParams(graph->exec, node, &params, context)
                   : rc;
    }
    if (type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) {
        CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 params;
        rc = driver->cuGraphBatchMemOpNodeGetParams(from, &params);
        return rc == CUDA_SUCCESS
                   ? driver->cuGraphExecBatchMemOpNodeSetParams(graph->exec, node, &params)
                   : rc;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult graph_update(const struct cuda_driver *driver, const struct server_graph *graph,
                      uint32_t node, const struct server_graph_build *build)
{
    return build->count == 1 && node < graph->count
               ? update(driver, graph, graph->nodes[node], build->nodes[0], graph->context->real)
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult server_do_ga_graph_set(struct server_app *app, const struct ga_graph_set_args *args)
{
    CUgraph real;
    struct server_graph_build *build;
    CU_TRY(captured(app, args->stream, &real, &build));
    const struct server_graph *graph = ga_handle_table_find(&app->objects.graphs, args->exec);
    CUresult rc = graph != NULL ? graph_update(app->driver, graph, args->node, build)
                                : CUDA_ERROR_INVALID_HANDLE;
    if (rc == CUDA_SUCCESS) {
        rc = graph_record_set(app, graph, args->node, build);
    }
    graph_build_discard(app, build, real);
    return rc;
}

CUresult server_do_ga_graph_enable(struct server_app *app, const struct ga_graph_enable_args *args)
{
    const struct server_graph *graph = ga_handle_table_find(&app->objects.graphs, args->exec);
    if (graph == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (args->node >= graph->count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(graph_record_enable(app, graph, args->node, args->on != 0));
    return app->driver->cuGraphNodeSetEnabled(graph->exec, graph->nodes[args->node], args->on);
}

/* ---- use */

CUresult server_do_ga_graph_launch(struct server_app *app, const struct ga_graph_launch_args *args)
{
    const struct server_graph *graph = ga_handle_table_find(&app->objects.graphs, args->exec);
    CUstream real;
    CUresult rc = server_handle_stream(app, args->stream, &real);
    if (graph == NULL || rc != CUDA_SUCCESS) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    meter_kernels_more(&app->meter, graph->count != 0 ? graph->count - 1 : 0);
    return app->driver->cuGraphLaunch(graph->exec, real);
}

CUresult server_do_ga_graph_destroy(struct server_app *app,
                                    const struct ga_graph_destroy_args *args)
{
    struct server_graph *graph = ga_handle_table_find(&app->objects.graphs, args->exec);
    return graph != NULL ? graph_free(app, graph) : CUDA_ERROR_INVALID_HANDLE;
}
