/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a context, and of all that it has. */
#include "server/calls/context_end.h"

#include <stdlib.h>

#include "server/app/carrier.h"
#include "server/app/current_context.h"
#include "server/calls/array.h"
#include "server/calls/event.h"
#include "server/calls/graph.h"
#include "server/calls/graph_condition.h"
#include "server/calls/green.h"
#include "server/calls/memory.h"
#include "server/calls/module.h"
#include "server/calls/stream.h"
#include "server/calls/texture.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/meter/meter.h"
#include "server/objects/context_open.h"
#include "server/objects/contexts.h"
#include "server/objects/kernel_memory.h"
#include "server/objects/peers.h"

static void keep_first(CUresult *first, CUresult rc)
{
    *first = *first == CUDA_SUCCESS ? rc : *first;
}

static CUresult ranges_free(struct server_app *app, const struct server_context *context)
{
    CUresult first = CUDA_SUCCESS;
    for (size_t i = app->ranges.count; i-- > 0;) {
        if (app->ranges.items[i].mapped && app->ranges.items[i].owner == context) {
            keep_first(&first, memory_free(app, app->ranges.items[i].base));
        }
    }
    return first;
}

static CUresult objects_free(struct server_app *app, struct server_context *context)
{
    CUresult first = CUDA_SUCCESS;
    ga_list_each (at, next, &context->graphs) {
        keep_first(&first, graph_free(app, ga_container(at, struct server_graph, link)));
    }
    ga_list_each (at, next, &context->modules) {
        keep_first(&first, module_free(app, ga_container(at, struct server_module, link)));
    }
    ga_list_each (at, next, &context->textures) {
        keep_first(&first, texture_free(app, ga_container(at, struct server_texture, link)));
    }
    while (!ga_list_empty(&context->arrays)) { /* the levels of one go with it */
        struct ga_list *at = context->arrays.next;
        keep_first(&first, array_free(app, ga_container(at, struct server_array, link)));
    }
    ga_list_each (at, next, &context->events) {
        keep_first(&first, event_free(app, ga_container(at, struct server_event, link)));
    }
    ga_list_each (at, next, &context->greens) {
        keep_first(&first, green_free(app, ga_container(at, struct server_green, link)));
    }
    ga_list_each (at, next, &context->streams) {
        keep_first(&first, stream_free(app, ga_container(at, struct server_stream, link)));
    }
    if (context->heir != NULL) {
        keep_first(&first, app->driver->cuStreamDestroy_v2(context->heir));
        context->heir = NULL;
    }
    conditions_free(app, context);
    ga_list_each (at, next, &context->free_events) {
        struct event_ref *ref = ga_container(at, struct event_ref, link);
        ga_list_remove(&ref->link);
        keep_first(&first, app->driver->cuEventDestroy_v2(ref->real));
        free(ref);
    }
    keep_first(&first, ranges_free(app, context));
    return first;
}

void context_settings_reset(struct server_app *app, struct server_context *context)
{
    const struct cuda_driver *driver = app->driver;
    for (unsigned limit = 0; limit < CU_LIMIT_MAX; limit++) {
        if ((context->limits_set >> limit & 1) != 0) {
            (void)driver->cuCtxSetLimit((CUlimit)limit, context->limits[limit]);
        }
    }
    context->limits_set = 0;
    (void)driver->cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE);
    (void)driver->cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *other = ga_container(at, struct server_context, link);
        if (other != context) {
            (void)driver->cuCtxDisablePeerAccess(other->real);
        }
    }
}

/* The work that was there when the client ended the context is done. */
static void clear_later(struct server_app *app, struct completer_entry *entry)
{
    const struct wire_header header = {.session = entry->session, .sequence = entry->sequence};
    struct server_context *context =
        ga_handle_table_find(&app->objects.contexts, entry->job_values[0]);
    CUresult rc = CUDA_ERROR_INVALID_CONTEXT; /* it has been ended twice */
    if (context != NULL) {
        rc = context_clear(app, context, entry->job_values[1] != 0);
    }
    server_reply(app, &header, rc);
}

CUresult context_clear_after_work(struct server_app *app, struct server_context *context, bool keep)
{
    struct completer_entry *entry = server_entry_make(app, COMPLETER_JOB);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context_apply(app, context);
    (void)context_mark(app, context,
                       &entry->marks); /* what cannot be marked is waited for at the end */
    context_apply(app, app->current);
    entry->job = clear_later;
    entry->job_values[0] = context->handle;
    entry->job_values[1] = keep;
    entry->between_frames = true;
    completer_add(&conn_of(app)->completer, entry);
    return SERVER_ANSWERED;
}

CUresult context_clear(struct server_app *app, struct server_context *context, bool keep)
{
    const struct cuda_driver *driver = app->driver;
    struct server_context *before = app->current;
    meter_rest_all(app);
    CUresult first = driver->cuCtxSetCurrent(context->real);
    keep_first(&first, context_drain(app, context));
    if (app->carrier->gives_up(app)) {
        return first; /* the end waits for its work and frees everything, or the process ends */
    }
    CUresult abandoned = keep ? CUDA_SUCCESS : context_abandon(app, context);
    keep_first(&first, abandoned);
    if (app->carrier->gives_up(app) || abandoned != CUDA_SUCCESS) {
        return first; /* the same; or the context stays */
    }
    if (context->waiting.under_way != 0 && waiting_calls_settle(app, &context->waiting) != GA_OK) {
        return CUDA_ERROR_UNKNOWN; /* the same */
    }
    context_apply(app, context); /* jobs have run meanwhile */
    meter_context_end(app, context);
    peer_drop(app, context);
    keep_first(&first, objects_free(app, context));
    if (keep) {
        context_settings_reset(app, context);
        (void)kernel_memory_settle(app, context);
        context_apply(app, before);
        return first;
    }
    app->current = before == context ? NULL : before;
    context_apply(app, app->current);
    output_context_remove(app->host->output, &context->output);
    keep_first(&first, context_end(app, context));
    (void)ga_handle_table_remove(&app->objects.contexts, context->handle);
    ga_list_remove(&context->link);
    free(context);
    return first;
}
