/* SPDX-License-Identifier: Apache-2.0 */
/* Handles and ranges: what a client names is looked up here and nowhere else. */
#include "server/session/handles.h"

#include <stdlib.h>

#include "server/session/app.h"
#include "server/session/contexts.h"

static bool ledger_take(void *user, uint64_t bytes)
{
    if (ledger_charge(user, FIGURE_HOST_BYTES, bytes) != CUDA_SUCCESS) {
        return false;
    }
    if (ledger_charge(user, FIGURE_OBJECTS, 1) != CUDA_SUCCESS) {
        ledger_return(user, FIGURE_HOST_BYTES, bytes);
        return false;
    }
    return true;
}

static void ledger_give(void *user, uint32_t objects, uint64_t bytes)
{
    ledger_return(user, FIGURE_OBJECTS, objects);
    ledger_return(user, FIGURE_HOST_BYTES, bytes);
}

void objects_init(struct server_objects *objects, struct ledger *ledger)
{
    const struct ga_handle_budget budget = {ledger_take, ledger_give, ledger};
    const struct {
        struct ga_handle_table *table;
        enum ga_handle_type type;
        uint32_t most;
        enum figure live;
        uint32_t
            bytes; /* of this machine, for one: what server and driver keep of it, rounded up */
    } tables[] = {
        {&objects->contexts, GA_HANDLE_CONTEXT, CONTEXTS_MAX, FIGURE_CONTEXTS, 65536},
        {&objects->streams, GA_HANDLE_STREAM, STREAMS_MAX, FIGURE_STREAMS, 2048},
        {&objects->events, GA_HANDLE_EVENT, EVENTS_MAX, FIGURE_EVENTS, 512},
        {&objects->modules, GA_HANDLE_MODULE, MODULES_MAX, FIGURE_MODULES, 4096},
        {&objects->functions, GA_HANDLE_FUNCTION, FUNCTIONS_MAX, FIGURE_FUNCTIONS, 512},
        {&objects->arrays, GA_HANDLE_ARRAY, ARRAYS_MAX, FIGURE_ARRAYS, 1024},
        {&objects->mipmaps, GA_HANDLE_MIPMAP, ARRAYS_MAX, FIGURE_MIPMAPS, 2048},
        {&objects->textures, GA_HANDLE_TEXTURE, TEXTURES_MAX, FIGURE_TEXTURES, 1024},
        {&objects->graphs, GA_HANDLE_EXEC, GRAPHS_MAX, FIGURE_GRAPHS, 4096},
        {&objects->physicals, GA_HANDLE_PHYSICAL, PHYSICALS_MAX, FIGURE_PHYSICALS, 1024},
        {&objects->greens, GA_HANDLE_GREEN, GREENS_MAX, FIGURE_GREENS, 8192},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        ga_handle_table_init(tables[i].table, tables[i].type, tables[i].most);
        ga_handle_table_show(tables[i].table, &ledger->figures->of[tables[i].live]);
        ga_handle_table_charge(tables[i].table, &budget, tables[i].bytes);
    }
    ga_list_init(&objects->context_list);
    ga_list_init(&objects->peers);
    pthread_mutex_init(&objects->event_lock, NULL);
    objects->last_lane = 0;
}

void objects_fini(struct server_objects *objects)
{
    struct ga_handle_table *tables[] = {&objects->contexts,  &objects->streams,   &objects->events,
                                        &objects->modules,   &objects->functions, &objects->arrays,
                                        &objects->mipmaps,   &objects->textures,  &objects->graphs,
                                        &objects->physicals, &objects->greens};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        ga_handle_table_fini(tables[i]);
    }
    pthread_mutex_destroy(&objects->event_lock);
}

struct server_stream *server_stream_look_up(struct server_objects *objects, uint64_t wire)
{
    struct server_stream *stream = ga_handle_table_find(&objects->streams, wire);
    objects->last_stream = stream;
    objects->last_stream_handle = wire;
    return stream;
}

struct server_stream *server_stream_find(struct server_app *app, uint64_t wire)
{
    struct server_stream *stream = server_stream_here(&app->objects, wire);
    return stream == NULL && app->replay != NULL ? app->replay->stream : stream;
}

/* 0 is the null stream, 1 its legacy name, both of the current context. 2, the stream of a thread,
 * is the client's business: it never travels. */
CUresult server_handle_stream(struct server_app *app, uint64_t wire, CUstream *real)
{
    if (wire == 0 || wire == (uint64_t)(uintptr_t)CU_STREAM_LEGACY) {
        *real = (CUstream)(uintptr_t)wire;
        return CUDA_SUCCESS;
    }
    const struct server_stream *stream = server_stream_find(app, wire);
    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    stream_apply(app, stream);
    *real = stream->real;
    return CUDA_SUCCESS;
}

CUresult server_handle_event(struct server_app *app, uint64_t wire, CUevent *real)
{
    const struct server_event *event = ga_handle_table_find(&app->objects.events, wire);
    if (event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *real = event->ref->real;
    return CUDA_SUCCESS;
}

CUresult server_handle_context(struct server_app *app, uint64_t wire, CUcontext *real)
{
    const struct server_context *context = ga_handle_table_find(&app->objects.contexts, wire);
    if (context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *real = context->real;
    return CUDA_SUCCESS;
}

CUresult server_handle_module(struct server_app *app, uint64_t wire, CUmodule *real)
{
    const struct server_module *module = ga_handle_table_find(&app->objects.modules, wire);
    if (module == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *real = module->real;
    return CUDA_SUCCESS;
}

CUresult server_handle_function(struct server_app *app, uint64_t wire, CUfunction *real)
{
    const struct server_function *function = ga_handle_table_find(&app->objects.functions, wire);
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *real = function->real;
    return CUDA_SUCCESS;
}

CUresult server_device(struct server_app *app, int32_t ordinal, CUdevice *real)
{
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        const struct server_session *session = app->sessions[i];
        if (session->agreed && ordinal >= 0 && session->device == (uint32_t)ordinal) {
            *real = session->real;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult server_range_check(struct server_app *app, uint64_t address, uint64_t bytes)
{
    bool good = range_table_holds(&app->ranges, address, bytes) || app->replay != NULL;
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct made_stream stream_made_from(struct server_app *app, CUstream real)
{
    struct made_stream made = {0};
    if (real != NULL) {
        (void)app->driver->cuStreamGetFlags(real, &made.flags);
        (void)app->driver->cuStreamGetPriority(real, &made.priority);
    }
    return made;
}

static CUresult handle_stream_put(struct server_app *app, uint64_t wire, CUstream real)
{
    struct server_stream *stream = calloc(1, sizeof *stream);
    enum ga_status status = GA_NO_MEMORY;
    if (stream != NULL && app->current != NULL) {
        *stream = (struct server_stream){.context = app->current,
                                         .handle = wire,
                                         .real = real,
                                         .made_from = stream_made_from(app, real),
                                         .lane = ++app->objects.last_lane};
        status = ga_handle_table_take(&app->objects.streams, wire, stream);
    }
    if (status != GA_OK) {
        free(stream);
        (void)app->driver->cuStreamDestroy_v2(real);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_append(&app->current->streams, &stream->link);
    return CUDA_SUCCESS;
}

CUresult server_handle_put(struct server_app *app, enum ga_handle_type type, uint64_t wire,
                           void *real)
{
    /* Events, modules, functions, arrays and textures are made by hand-written calls. */
    return type == GA_HANDLE_STREAM ? handle_stream_put(app, wire, real)
                                    : CUDA_ERROR_INVALID_HANDLE;
}
