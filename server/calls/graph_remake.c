/* SPDX-License-Identifier: Apache-2.0 */
/* The kept frames are carried out once more, by the handlers that have carried them out before, in
 * a stream that stands for the one they name (struct server_replay). */
#include "server/calls/graph_remake.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "base/log.h"
#include "server/app/fault.h"
#include "server/calls/graph.h"
#include "server/calls/graph_condition.h"

CUresult graph_unmake(struct server_app *app, struct server_graph *graph)
{
    CUresult rc = graph->exec != NULL ? app->driver->cuGraphExecDestroy(graph->exec) : CUDA_SUCCESS;
    CUresult second = CUDA_SUCCESS;
    if (graph->of == NULL && graph->graph != NULL) {
        second = app->driver->cuGraphDestroy(graph->graph);
    }
    graph->exec = NULL;
    graph->graph = NULL;
    free(graph->nodes);
    graph->nodes = NULL;
    return rc != CUDA_SUCCESS ? rc : second;
}

static CUresult begin(struct server_app *app, const struct server_condition_graph *of)
{
    const struct server_stream *stream = app->replay->stream;
    if (of == NULL) {
        const struct ga_graph_begin_args args = {.stream = stream->handle};
        return server_do_ga_graph_begin(app, &args);
    }
    const struct ga_graph_begin_of_args args = {.stream = stream->handle,
                                                .graph = condition_graph_number(of)};
    return server_do_ga_graph_begin_of(app, &args);
}

static CUresult frames_capture(struct server_app *app, const struct frame_record *frames,
                               const struct server_condition_graph *of, CUgraph *graph,
                               struct server_graph_build **build)
{
    struct server_replay *replay = app->replay;
    const struct wire_header *header;
    const uint8_t *values;
    size_t at = 0;
    CU_TRY(begin(app, of));
    while ((header = frame_record_next(frames, &at, &values)) != NULL) {
        struct ga_reader reader = ga_reader_of(values, header->length);
        app->call = (struct server_call){.header = header,
                                         .session = app->sessions[header->session],
                                         .values = header->length,
                                         .bytes = values};
        if (!server_dispatch_find(header->opcode)(app, header, &reader)) {
            replay->rc = CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (replay->rc != CUDA_SUCCESS) {
        graph_build_fail(replay->stream->build, replay->rc);
    }
    return graph_build_whole(app, replay->stream, graph, build);
}

/* The handle of the stream that they name: all the same one, and the first begins with it. */
static uint64_t remake_stream_of(const struct frame_record *frames)
{
    size_t at = 0;
    const uint8_t *values;
    const struct wire_header *header = frame_record_next(frames, &at, &values);
    struct ga_reader reader = ga_reader_of(values, header != NULL ? header->length : 0);
    return header != NULL ? ga_read_u64(&reader) : 0;
}

/* Captures the calls of the frames, in their stream if it is still there. On success graph and
 * build are the caller's. */
static CUresult capture(struct server_app *app, struct server_context *context,
                        const struct frame_record *frames, const struct server_condition_graph *of,
                        CUgraph *graph, struct server_graph_build **build)
{
    struct server_stream made = {.context = context, .handle = remake_stream_of(frames)};
    struct server_stream *there = ga_handle_table_find(&app->objects.streams, made.handle);
    struct server_replay replay = {.stream = there != NULL ? there : &made};
    if (there == NULL) {
        CU_TRY(app->driver->cuStreamCreate(&made.real, CU_STREAM_NON_BLOCKING));
    }
    app->replay = &replay;
    CUresult rc = frames_capture(app, frames, of, graph, build);
    app->replay = NULL;
    if (there == NULL) {
        (void)app->driver->cuStreamDestroy_v2(made.real);
    }
    return rc;
}

static CUresult remake_changes(struct server_app *app, const struct server_graph *graph)
{
    const struct made_graph *made = graph->made_from;
    for (uint32_t i = 0; made->changes != NULL && i < made->count; i++) {
        const struct made_graph_change *change = &made->changes[i];
        if (change->frames.used != 0) {
            CUgraph real;
            struct server_graph_build *build;
            CU_TRY(capture(app, graph->context, &change->frames, NULL, &real, &build));
            CUresult rc = graph_update(app->driver, graph, i, build);
            graph_build_discard(app, build, real);
            CU_TRY(rc);
        }
        if (change->off) {
            CU_TRY(app->driver->cuGraphNodeSetEnabled(graph->exec, graph->nodes[i], 0));
        }
    }
    return CUDA_SUCCESS;
}

static CUresult graph_make(struct server_app *app, struct server_graph *graph)
{
    struct server_graph_build *build;
    CUgraph real;
    CU_TRY(capture(app, graph->context, &graph->made_from->frames, graph->of, &real, &build));
    CUgraphExec exec = NULL;
    CUresult rc = app->driver->cuGraphInstantiateWithFlags(&exec, real, graph->made_from->flags);
    if (rc != CUDA_SUCCESS || build->count != graph->count) {
        graph_build_discard(app, build, real);
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_INVALID_VALUE;
    }
    graph->graph = real;
    graph->exec = exec;
    graph->nodes = build->nodes;
    build->nodes = NULL;
    graph_build_free(app, build);
    return remake_changes(app, graph);
}

bool graph_can_be_remade(struct server_app *app, struct server_graph *graph)
{
    struct server_graph_build *build;
    CUgraph real;
    if (graph->exec == NULL || graph->of != NULL) {
        return true;
    }
    app->current = graph->context;
    if (capture(app, graph->context, &graph->made_from->frames, NULL, &real, &build) !=
        CUDA_SUCCESS) {
        return false;
    }
    graph_build_discard(app, build, real);
    return true;
}

CUresult graph_remake(struct server_app *app, struct server_graph *graph)
{
    app->current = graph->context;
    CUresult rc = graph_make(app, graph);
    if (rc != CUDA_SUCCESS) {
        char room[16];
        ga_debug("an executable graph is not made again: %s",
                 driver_result_name(app->driver, rc, room));
        (void)graph_unmake(app, graph);
    }
    return server_is_fault(rc) ? rc : CUDA_SUCCESS;
}
