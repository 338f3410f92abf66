/* SPDX-License-Identifier: Apache-2.0 */
/* The order: what refers to something goes before it, and comes after it. */
#include "server/rebuild/rebuild.h"

#include <stdio.h>
#include <time.h>

#include "api/driver_places.h"
#include "base/clock.h"
#include "server/app/current_context.h"
#include "server/app/kernel_output.h"
#include "server/calls/graph_condition.h"
#include "server/calls/graph_remake.h"
#include "server/conn/conn.h"
#include "server/meter/meter.h"
#include "server/objects/contexts.h"
#include "server/objects/peers.h"
#include "server/rebuild/rebuild_state.h"

#define IDLE_NS  (100 * GA_NS_PER_MS) /* how long work may still take */
#define PAUSE_NS (100 * GA_NS_PER_US)

bool rebuild_check(struct rebuild *rebuild, CUresult rc, const char *what)
{
    if (rc != CUDA_SUCCESS && rebuild->rc == CUDA_SUCCESS) {
        rebuild->rc = rc;
        rebuild->what = what;
    }
    return rebuild->rc == CUDA_SUCCESS;
}

CUresult rebuild_device_enter(struct rebuild *rebuild, const struct server_session *session,
                              bool *retained)
{
    struct server_app *app = rebuild->app;
    CUcontext context = NULL;
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *there = ga_container(at, struct server_context, link);
        context = there->session == session ? there->real : context;
    }
    *retained = context == NULL;
    if (*retained) {
        CU_TRY(app->driver->cuDevicePrimaryCtxRetain(&context, session->real));
    }
    return app->driver->cuCtxSetCurrent(context);
}

void rebuild_device_leave(struct rebuild *rebuild, const struct server_session *session,
                          bool retained)
{
    (void)rebuild->app->driver->cuCtxSetCurrent(NULL);
    if (retained) {
        (void)rebuild->app->driver->cuDevicePrimaryCtxRelease_v2(session->real);
    }
}

/* ---- whether it can be */

/* Something cannot be made again; NULL: all can. */
static const char *ranges_refuse(const struct server_app *app)
{
    for (size_t i = 0; i < app->ranges.count; i++) {
        const struct range *range = &app->ranges.items[i];
        if (range->allocated) {
            return "memory at an address that the driver has chosen";
        }
        if (range->shared || range->opened) {
            return "memory that is shared with another application";
        }
    }
    return NULL;
}

static const char *physicals_refuse(const struct server_app *app)
{
    uint32_t index = 0;
    uint64_t handle;
    const struct server_physical *physical;
    while ((physical = ga_handle_table_next(&app->objects.physicals, &index, &handle)) != NULL) {
        if (physical->shared || physical->opened) {
            return "memory that is shared with another application";
        }
    }
    return NULL;
}

static const char *context_refuse(const struct rebuild *rebuild,
                                  const struct server_context *context)
{
    struct cuda_context_state state;
    ga_list_each (at, next, &context->events) {
        if (ga_container(at, struct server_event, link)->shared) {
            return "an event that is shared with another application";
        }
    }
    if (rebuild->places->context_state(context->real, &state) != CUDA_SUCCESS) {
        return "a context that the driver does not know";
    }
    return NULL;
}

static const char *graphs_refuse(struct rebuild *rebuild, const struct server_context *context)
{
    const char *why = NULL;
    (void)rebuild->app->driver->cuCtxSetCurrent(context->real);
    ga_list_each (at, next, &context->graphs) {
        struct server_graph *graph = ga_container(at, struct server_graph, link);
        if (why == NULL && !graph_can_be_remade(rebuild->app, graph)) {
            why = "an executable graph of what is not mapped or loaded any more";
        }
    }
    return why;
}

static const char *refuse(struct rebuild *rebuild)
{
    const struct server_app *app = rebuild->app;
    const char *why = rebuild->places == NULL         ? "a driver that cannot place objects"
                      : atomic_load(&app->fault) != 0 ? "a fault"
                                                      : ranges_refuse(app);
    why = why == NULL ? physicals_refuse(app) : why;
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *context = ga_container(at, struct server_context, link);
        why = why == NULL ? context_refuse(rebuild, context) : why;
        why = why == NULL ? graphs_refuse(rebuild, context) : why;
    }
    return why;
}

/* States that only a later call ends: a capture, or bytes that have been announced; or a context is
 * being ended. */
static bool is_amid(const struct server_app *app)
{
    bool amid = conn_of(app)->bulk.next.said || atomic_load(&conn_of(app)->end_count) != 0;
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *context = ga_container(at, struct server_context, link);
        ga_list_each (of, after, &context->streams) {
            amid = amid || ga_container(of, struct server_stream, link)->build != NULL;
        }
    }
    return amid;
}

/* Whether all work ends soon, by itself. All answers to it have been sent then. */
static bool becomes_idle(struct server_app *app)
{
    uint64_t until = ga_clock_ns() + IDLE_NS;
    completer_hand_over(&conn_of(app)->completer);
    while (!contexts_are_idle(app)) {
        if (ga_clock_ns() > until || atomic_load(&conn_of(app)->ended)) {
            return false;
        }
        const struct timespec pause = {.tv_nsec = PAUSE_NS};
        conn_flush(conn_of(app));
        conn_run_jobs(conn_of(app));
        (void)nanosleep(&pause, NULL);
    }
    meter_rest_all(app);
    ga_list_each (at, next, &app->objects.context_list) {
        struct server_context *context = ga_container(at, struct server_context, link);
        context_apply(app, context);
        if (context_quiesce(app, context) != GA_OK) {
            return false;
        }
        output_of_context(app);
    }
    return waiting_calls_settle(app, &conn_of(app)->waiting.all) == GA_OK &&
           atomic_load(&app->fault) == 0;
}

/* ---- down and up */

typedef void context_part(struct rebuild *rebuild, struct server_context *context);

static void contexts_each(struct rebuild *rebuild, context_part *part)
{
    struct server_app *app = rebuild->app;
    ga_list_each (at, next, &app->objects.context_list) {
        struct server_context *context = ga_container(at, struct server_context, link);
        if (rebuild->rc == CUDA_SUCCESS) {
            context_apply(app, context);
            part(rebuild, context);
        }
    }
}

static void graphs_down(struct rebuild *rebuild, struct server_context *context)
{
    ga_list_each (at, next, &context->graphs) {
        struct server_graph *graph = ga_container(at, struct server_graph, link);
        (void)rebuild_check(rebuild, graph_unmake(rebuild->app, graph), "an executable graph");
    }
}

static void graphs_up(struct rebuild *rebuild, struct server_context *context)
{
    ga_list_each (at, next, &context->graphs) {
        struct server_graph *graph = ga_container(at, struct server_graph, link);
        (void)rebuild_check(rebuild, graph_remake(rebuild->app, graph), "an executable graph");
    }
}

static void tear_down(struct rebuild *rebuild)
{
    struct server_app *app = rebuild->app;
    contexts_each(rebuild, graphs_down);
    (void)rebuild_check(rebuild, conditions_unmake(app, rebuild->places), "variables of graphs");
    contexts_each(rebuild, rebuild_heap_down);
    contexts_each(rebuild, rebuild_modules_down);
    contexts_each(rebuild, rebuild_textures_down);
    contexts_each(rebuild, rebuild_arrays_down);
    contexts_each(rebuild, rebuild_events_down);
    contexts_each(rebuild, rebuild_streams_down);
    if (rebuild->rc == CUDA_SUCCESS) {
        rebuild_memory_down(rebuild);
    }
    peers_suspend(app);
    contexts_each(rebuild, rebuild_settings_down);
    contexts_each(rebuild, rebuild_context_down);
}

static void make_again(struct rebuild *rebuild)
{
    struct server_app *app = rebuild->app;
    contexts_each(rebuild, rebuild_context_up);
    contexts_each(rebuild, rebuild_heap_up);
    if (rebuild->rc == CUDA_SUCCESS) {
        rebuild_memory_up(rebuild);
    }
    if (rebuild->rc == CUDA_SUCCESS) {
        (void)rebuild_check(rebuild, peers_resume(app), "peer access");
    }
    contexts_each(rebuild, rebuild_streams_up);
    contexts_each(rebuild, rebuild_events_up);
    contexts_each(rebuild, rebuild_arrays_up);
    contexts_each(rebuild, rebuild_textures_up);
    contexts_each(rebuild, rebuild_modules_up);
    if (rebuild->rc == CUDA_SUCCESS) {
        CUresult rc = conditions_remake(app, rebuild->places);
        (void)rebuild_check(rebuild, rc, "variables of graphs");
    }
    contexts_each(rebuild, graphs_up);
}

static void rebuild_fini(struct rebuild *rebuild)
{
    saved_fini(&rebuild->contexts);
    saved_fini(&rebuild->heaps);
    saved_fini(&rebuild->mappings);
    saved_fini(&rebuild->physicals);
    saved_fini(&rebuild->streams);
    saved_fini(&rebuild->arrays);
    saved_fini(&rebuild->textures);
    saved_fini(&rebuild->modules);
}

enum rebuild_outcome rebuild_application(struct server_app *app, char *why, size_t why_size)
{
    struct rebuild rebuild = {.app = app, .places = driver_places(app->driver)};
    struct server_context *current = app->current;
    const char *refused = NULL;
    enum rebuild_outcome outcome = REBUILD_DONE;
    if (is_amid(app) || !becomes_idle(app)) {
        snprintf(why, why_size, "work is under way");
        outcome = REBUILD_BUSY;
    } else if ((refused = refuse(&rebuild)) != NULL) {
        snprintf(why, why_size, "%s", refused);
        outcome = REBUILD_REFUSED;
    } else {
        tear_down(&rebuild);
        make_again(&rebuild);
        rebuild_fini(&rebuild);
    }
    if (rebuild.rc != CUDA_SUCCESS) {
        char room[16];
        snprintf(why, why_size, "%s: %s", rebuild.what,
                 driver_result_name(app->driver, rebuild.rc, room));
        outcome = REBUILD_LOST;
    }
    app->current = current;
    context_apply(app, current);
    return outcome;
}
