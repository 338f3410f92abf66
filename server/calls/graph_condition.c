/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional nodes. Their variables belong to a graph of the driver, which is made with the first
 * of them, and is empty. When the client makes an executable it is captured into that graph; when
 * the executable goes, its nodes do, and the graph waits for the next one.
 *
 * Bodies are captured one after the other, in the same stream, when the graph around them is
 * whole. */
#include "server/calls/graph_condition.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/driver_places.h"
#include "api/extent.h"
#include "api/server_dispatch.h"
#include "server/calls/graph.h"
#include "server/calls/graph_record.h"
#include "server/objects/handles.h"
#include "server/objects/mapped_memory.h"

#define CONDITIONS_MAX  1048576u
#define CONDITION_BYTES 1024u /* of this machine, for one: what server and driver keep of it */

struct server_condition_graph {
    struct ga_number_node by_number; /* first; the client's */
    CUgraph real;
    uint32_t conditions;
    bool busy;              /* it is captured to, or has an executable */
    bool spoilt;            /* its nodes could not be removed: nothing more is captured to it */
    struct ga_list dropped; /* variables that the client has dropped, which its executable has */
    uint32_t charged[CONF_GPUS_MAX]; /* variables on each GPU: the driver has them as long as it */
    uint32_t charged_all;
};

struct server_condition {
    struct ga_number_node by_number; /* first; the client's */
    struct ga_list link;             /* of the context; or of the graph, if it has been dropped */
    CUgraphConditionalHandle real;
    struct server_condition_graph *of;
    struct server_context *context;
    uint32_t value, flags; /* that it was made from */
};

CUgraph condition_graph_real(const struct server_condition_graph *of)
{
    return of->real;
}

uint64_t condition_graph_number(const struct server_condition_graph *of)
{
    return of->by_number.number;
}

/* ---- what variables take */

static uint64_t variables_extent(uint32_t count)
{
    return count * api_extent(sizeof(uint32_t));
}

static CUresult variable_charge(struct server_app *app, struct server_condition_graph *of)
{
    const struct server_session *session = app->current->session;
    CU_TRY(ledger_charge(app->ledger, FIGURE_OBJECTS, 1));
    CUresult rc = ledger_charge(app->ledger, FIGURE_HOST_BYTES, CONDITION_BYTES);
    if (rc == CUDA_SUCCESS) {
        rc = memory_charge(app, session, variables_extent(1));
        if (rc != CUDA_SUCCESS) {
            ledger_return(app->ledger, FIGURE_HOST_BYTES, CONDITION_BYTES);
        }
    }
    if (rc != CUDA_SUCCESS) {
        ledger_return(app->ledger, FIGURE_OBJECTS, 1);
        return rc;
    }
    of->charged[session->gpu]++;
    of->charged_all++;
    return CUDA_SUCCESS;
}

static void variables_return(struct server_app *app, struct server_condition_graph *of)
{
    for (uint32_t gpu = 0; gpu < CONF_GPUS_MAX; gpu++) {
        if (of->charged[gpu] != 0) {
            ledger_return_device(app->ledger, gpu, variables_extent(of->charged[gpu]));
        }
    }
    ledger_return(app->ledger, FIGURE_HOST_BYTES, (uint64_t)of->charged_all * CONDITION_BYTES);
    ledger_return(app->ledger, FIGURE_OBJECTS, of->charged_all);
}

/* ---- variables */

static struct server_condition_graph *graph_find(struct server_app *app, uint64_t number)
{
    return (struct server_condition_graph *)ga_number_map_find(&app->objects.condition_graphs,
                                                               number);
}

/* Drops a graph without variables: the client cannot name it any more. */
static void graph_drop_unused(struct server_app *app, struct server_condition_graph *of)
{
    if (of->busy) {
        return;
    }
    ga_list_each (at, next, &of->dropped) {
        ga_list_remove(at);
        free(ga_container(at, struct server_condition, link));
    }
    if (of->conditions == 0) {
        ga_number_map_remove(&app->objects.condition_graphs, &of->by_number);
        (void)app->driver->cuGraphDestroy(of->real);
        variables_return(app, of);
        free(of);
    }
}

static CUresult graph_need(struct server_app *app, uint64_t number,
                           struct server_condition_graph **out)
{
    *out = graph_find(app, number);
    if (*out != NULL) {
        return CUDA_SUCCESS;
    }
    struct server_condition_graph *made = calloc(1, sizeof *made);
    CUresult rc =
        made != NULL ? app->driver->cuGraphCreate(&made->real, 0) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    ga_list_init(&made->dropped);
    ga_number_map_add(&app->objects.condition_graphs, &made->by_number, number);
    *out = made;
    return CUDA_SUCCESS;
}

static struct server_condition *condition_find(struct server_app *app, uint64_t number)
{
    return (struct server_condition *)ga_number_map_find(&app->objects.conditions, number);
}

static CUresult condition_make(struct server_app *app, const struct ga_graph_condition_args *args,
                               CUgraphConditionalHandle *handle)
{
    struct server_condition_graph *of;
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (condition_find(app, args->condition) != NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct server_condition *made =
        app->objects.condition_count < CONDITIONS_MAX ? calloc(1, sizeof *made) : NULL;
    CUresult rc = made != NULL ? graph_need(app, args->graph, &of) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    rc = variable_charge(app, of);
    if (rc == CUDA_SUCCESS) { /* what fails then stays charged, as long as the graph is there */
        rc = app->driver->cuGraphConditionalHandleCreate(handle, of->real, app->current->real,
                                                         args->value, args->flags);
    }
    if (rc != CUDA_SUCCESS) {
        free(made);
        graph_drop_unused(app, of);
        return rc;
    }
    made->of = of;
    made->real = *handle;
    made->context = app->current;
    made->value = args->value;
    made->flags = args->flags;
    of->conditions++;
    app->objects.condition_count++;
    ledger_note(app->ledger, FIGURE_CONDITIONS, 1);
    ga_number_map_add(&app->objects.conditions, &made->by_number, args->condition);
    ga_list_append(&app->current->conditions, &made->link);
    return CUDA_SUCCESS;
}

static void condition_free(struct server_app *app, struct server_condition *condition)
{
    ga_number_map_remove(&app->objects.conditions, &condition->by_number);
    ga_list_remove(&condition->link);
    app->objects.condition_count--;
    ledger_return(app->ledger, FIGURE_CONDITIONS, 1);
    condition->of->conditions--;
    ga_list_append(&condition->of->dropped, &condition->link);
    graph_drop_unused(app, condition->of);
}

void conditions_free(struct server_app *app, struct server_context *context)
{
    ga_list_each (at, next, &context->conditions) {
        struct server_condition *condition = ga_container(at, struct server_condition, link);
        condition->context = NULL;
        condition_free(app, condition);
    }
}

/* ---- made again */

/* The one behind `last` (NULL: the first, and the bucket is 0). */
static struct server_condition_graph *graph_each(struct server_app *app, unsigned *bucket,
                                                 const struct server_condition_graph *last)
{
    struct ga_number_node *node = last != NULL ? last->by_number.next : NULL;
    while (node == NULL && *bucket < GA_NUMBER_MAP_BUCKETS) {
        node = app->objects.condition_graphs.buckets[(*bucket)++];
    }
    return (struct server_condition_graph *)node;
}

/* The action for each variable that can be used. */
typedef CUresult condition_use(struct server_app *app, const struct server_condition *condition,
                               const struct cuda_driver_places *places);

static CUresult conditions_each(struct server_app *app, condition_use *use,
                                const struct cuda_driver_places *places)
{
    unsigned bucket = 0;
    struct server_condition_graph *of = NULL;
    while ((of = graph_each(app, &bucket, of)) != NULL) {
        ga_list_each (at, next, &of->dropped) {
            const struct server_condition *gone = ga_container(at, struct server_condition, link);
            CU_TRY(gone->context != NULL ? use(app, gone, places) : CUDA_SUCCESS);
        }
    }
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *context = ga_container(at, struct server_context, link);
        ga_list_each (of_it, after, &context->conditions) {
            CU_TRY(use(app, ga_container(of_it, struct server_condition, link), places));
        }
    }
    return CUDA_SUCCESS;
}

/* Its memory stays taken when it goes. */
static CUresult condition_keep(struct server_app *app, const struct server_condition *condition,
                               const struct cuda_driver_places *places)
{
    (void)app;
    return (CUresult)places->address_keep(condition->real);
}

CUresult conditions_unmake(struct server_app *app, const struct cuda_driver_places *places)
{
    unsigned bucket = 0;
    struct server_condition_graph *of = NULL;
    CU_TRY(conditions_each(app, condition_keep, places));
    while ((of = graph_each(app, &bucket, of)) != NULL) {
        CU_TRY(app->driver->cuGraphDestroy(of->real));
        of->real = NULL;
        of->busy = false; /* until its executable is made again */
    }
    return CUDA_SUCCESS;
}

static CUresult condition_remake(struct server_app *app, const struct server_condition *condition,
                                 const struct cuda_driver_places *places)
{
    CUgraphConditionalHandle real;
    CU_TRY((CUresult)places->condition_place(condition->real));
    CU_TRY(app->driver->cuGraphConditionalHandleCreate(
        &real, condition->of->real, condition->context->real, condition->value, condition->flags));
    return real == condition->real ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult conditions_remake(struct server_app *app, const struct cuda_driver_places *places)
{
    unsigned bucket = 0;
    struct server_condition_graph *of = NULL;
    while ((of = graph_each(app, &bucket, of)) != NULL) {
        CU_TRY(app->driver->cuGraphCreate(&of->real, 0));
    }
    return conditions_each(app, condition_remake, places);
}

CUresult server_do_ga_graph_condition(struct server_app *app,
                                      const struct ga_graph_condition_args *args,
                                      struct ga_graph_condition_results *results)
{
    CUgraphConditionalHandle handle;
    CU_TRY(condition_make(app, args, &handle));
    results->handle = handle;
    return CUDA_SUCCESS;
}

CUresult server_do_ga_graph_condition_drop(struct server_app *app,
                                           const struct ga_graph_condition_drop_args *args)
{
    struct server_condition *condition = condition_find(app, args->condition);
    if (condition != NULL) {
        condition_free(app, condition);
    }
    return CUDA_SUCCESS;
}

/* ---- the graph around them */

static CUresult nodes_remove(const struct cuda_driver *driver, CUgraph graph)
{
    size_t count = 0;
    CU_TRY(driver->cuGraphGetNodes(graph, NULL, &count));
    if (count == 0) {
        return CUDA_SUCCESS;
    }
    CUgraphNode *nodes = calloc(count, sizeof *nodes);
    CUresult rc =
        nodes != NULL ? driver->cuGraphGetNodes(graph, nodes, &count) : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = driver->cuGraphDestroyNode(nodes[i]);
    }
    free(nodes);
    return rc;
}

void condition_graph_free(struct server_app *app, struct server_condition_graph *of)
{
    of->spoilt = nodes_remove(app->driver, of->real) != CUDA_SUCCESS;
    of->busy = false;
    graph_drop_unused(app, of);
}

static CUresult capture_to(const struct cuda_driver *driver, CUstream stream, CUgraph graph)
{
    return driver->cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                               CU_STREAM_CAPTURE_MODE_RELAXED);
}

CUresult server_do_ga_graph_begin_of(struct server_app *app,
                                     const struct ga_graph_begin_of_args *args)
{
    struct server_stream *stream = server_stream_find(app, args->stream);
    struct server_condition_graph *of = graph_find(app, args->graph);
    if (stream == NULL || stream->build != NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (of == NULL || of->busy || of->spoilt) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    struct server_graph_build *build = calloc(1, sizeof *build);
    if (build == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    build->ledger = app->ledger;
    CUresult rc = capture_to(app->driver, stream->real, of->real);
    if (rc != CUDA_SUCCESS) {
        free(build);
        return rc;
    }
    build->of = of;
    of->busy = true;
    stream->build = build;
    graph_record_begin(app, stream);
    return CUDA_SUCCESS;
}

/* ---- nodes and bodies */

static struct server_graph_bodies *bodies_room(struct server_graph_build *build)
{
    if (build->bodies_count == build->bodies_room) {
        uint32_t room = build->bodies_room != 0 ? build->bodies_room * 2 : 4;
        struct server_graph_bodies *bodies =
            room <= NODES_MAX ? realloc(build->bodies, room * sizeof *bodies) : NULL;
        if (bodies == NULL) {
            return NULL;
        }
        build->bodies = bodies;
        build->bodies_room = room;
    }
    return &build->bodies[build->bodies_count];
}

/* The node comes behind what the stream's dependencies are, and is what they are then. */
static CUresult node_add(const struct server_app *app, const struct server_stream *stream,
                         const struct server_condition *condition,
                         const struct ga_graph_conditional_args *args)
{
    const struct cuda_driver *driver = app->driver;
    struct server_graph_build *build = stream->build;
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    CUgraphNode node;
    const CUgraphNode *after = NULL;
    size_t count = 0;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
                                .conditional = {.handle = condition->real,
                                                .type = (CUgraphConditionalNodeType)args->type,
                                                .size = args->bodies,
                                                .ctx = stream->context->real}};
    struct server_graph_bodies *bodies = bodies_room(build);
    CU_TRY(bodies != NULL ? driver->cuStreamGetCaptureInfo_v2(stream->real, &status, NULL, &graph,
                                                              &after, &count)
                          : CUDA_ERROR_OUT_OF_MEMORY);
    if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    CU_TRY(driver->cuGraphAddNode(&node, graph, after, count, &params));
    CU_TRY(driver->cuStreamUpdateCaptureDependencies(stream->real, &node, 1,
                                                     CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    *bodies = (struct server_graph_bodies){
        .node = build->count, .count = args->bodies, .graphs = params.conditional.phGraph_out};
    build->bodies_count++;
    return CUDA_SUCCESS;
}

/* One that has been dropped has a node only where that is made again. */
static const struct server_condition *
condition_of(struct server_app *app, const struct server_graph_build *build, uint64_t number)
{
    const struct server_condition *found = condition_find(app, number);
    if (found != NULL || app->replay == NULL || build->of == NULL) {
        return found;
    }
    ga_list_each (at, next, &build->of->dropped) {
        const struct server_condition *gone = ga_container(at, struct server_condition, link);
        if (gone->by_number.number == number) {
            return gone;
        }
    }
    return NULL;
}

CUresult server_do_ga_graph_conditional(struct server_app *app,
                                        const struct ga_graph_conditional_args *args)
{
    struct server_stream *stream = graph_building(app, args->stream);
    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct server_graph_build *build = stream->build;
    const struct server_condition *condition = condition_of(app, build, args->condition);
    graph_record_say(app, stream);
    CUresult rc = build->rc;
    if (rc == CUDA_SUCCESS &&
        (!build->open || build->of == NULL || condition == NULL || condition->of != build->of ||
         args->bodies == 0 || args->bodies > API_GRAPH_BODIES_MAX)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = node_add(app, stream, condition, args);
    }
    if (rc != CUDA_SUCCESS) {
        graph_build_fail(build, rc);
    }
    return rc;
}

static CUgraph body_find(const struct server_graph_build *build, uint32_t node, uint32_t body)
{
    for (uint32_t i = 0; i < build->bodies_count; i++) {
        const struct server_graph_bodies *bodies = &build->bodies[i];
        if (bodies->node == node) {
            return body < bodies->count ? bodies->graphs[body] : NULL;
        }
    }
    return NULL;
}

/* Whatever happens the stream goes on capturing: what follows in it must not be done. */
CUresult server_do_ga_graph_body(struct server_app *app, const struct ga_graph_body_args *args)
{
    const struct cuda_driver *driver = app->driver;
    struct server_stream *stream = graph_building(app, args->stream);
    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct server_graph_build *build = stream->build;
    graph_build_collect(driver, stream);
    graph_record_say(app, stream);
    CUgraph ended, graph = body_find(build, args->node, args->body);
    if (build->rc == CUDA_SUCCESS && graph == NULL) {
        graph_build_fail(build, CUDA_ERROR_INVALID_VALUE);
    }
    if (build->rc != CUDA_SUCCESS) {
        return build->rc;
    }
    CUresult rc = driver->cuStreamEndCapture(stream->real, &ended);
    if (rc == CUDA_SUCCESS) {
        rc = capture_to(driver, stream->real, graph);
    }
    if (rc != CUDA_SUCCESS) {
        (void)capture_to(driver, stream->real, build->of->real);
        graph_build_fail(build, rc);
    }
    build->first = build->count;
    return rc;
}
