/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of an application's objects. */
#include "server/app/objects.h"

#include "server/charge/ledger.h"

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
