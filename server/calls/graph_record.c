/* SPDX-License-Identifier: Apache-2.0 */
#include "server/calls/graph_record.h"

#include <stdlib.h>

#include "server/app/current_context.h"

void graph_record_begin(struct server_app *app, struct server_stream *stream)
{
    if (app->replay == NULL) {
        stream_record(stream, &stream->build->record);
    }
}

void graph_record_say(struct server_app *app, struct server_stream *stream)
{
    struct frame_record *record = stream->recording;
    const struct server_call *call = &app->call;
    if (record == NULL) {
        return;
    }
    CUresult rc = frame_record_reserve(record, app->ledger);
    if (rc == CUDA_SUCCESS) {
        frame_record_add(record, call->header, call->bytes, call->values);
        rc = frame_record_reserve(record, app->ledger);
    }
    if (rc != CUDA_SUCCESS) {
        graph_build_fail(stream->build, rc);
    }
}

static struct frame_record frames_take(struct server_graph_build *build)
{
    struct frame_record frames = build->record;
    build->record = (struct frame_record){0};
    return frames;
}

struct made_graph *graph_record_make(uint64_t flags, struct server_graph_build *build)
{
    struct made_graph *made = calloc(1, sizeof *made);
    if (made != NULL) {
        *made = (struct made_graph){
            .flags = flags, .frames = frames_take(build), .count = build->count};
    }
    return made;
}

/* By node; NULL: no memory. */
static struct made_graph_change *changes_need(struct server_app *app, struct made_graph *made)
{
    const uint64_t bytes = made->count * sizeof *made->changes;
    if (made->changes == NULL &&
        ledger_charge(app->ledger, FIGURE_HOST_BYTES, bytes) == CUDA_SUCCESS) {
        made->changes = calloc(made->count, sizeof *made->changes);
        ledger_return(app->ledger, FIGURE_HOST_BYTES, made->changes == NULL ? bytes : 0);
    }
    return made->changes;
}

CUresult graph_record_set(struct server_app *app, const struct server_graph *graph, uint32_t node,
                          struct server_graph_build *build)
{
    struct made_graph_change *changes = changes_need(app, graph->made_from);
    if (changes == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    frame_record_fini(&changes[node].frames, app->ledger);
    changes[node].frames = frames_take(build);
    return CUDA_SUCCESS;
}

CUresult graph_record_enable(struct server_app *app, const struct server_graph *graph,
                             uint32_t node, bool on)
{
    struct made_graph *made = graph->made_from;
    struct made_graph_change *changes =
        on && made->changes == NULL ? NULL : changes_need(app, made);
    if (changes != NULL) {
        changes[node].off = !on;
    }
    return changes != NULL || on ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void graph_record_free(struct server_app *app, struct made_graph *made)
{
    if (made == NULL) {
        return;
    }
    for (uint32_t i = 0; made->changes != NULL && i < made->count; i++) {
        frame_record_fini(&made->changes[i].frames, app->ledger);
    }
    ledger_return(app->ledger, FIGURE_HOST_BYTES,
                  made->changes != NULL ? made->count * sizeof *made->changes : 0);
    frame_record_fini(&made->frames, app->ledger);
    free(made->changes);
    free(made);
}
