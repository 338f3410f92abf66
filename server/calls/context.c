/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: made, emptied, ended, waited for. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/calls/context_end.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/objects/context_open.h"
#include "server/objects/contexts.h"
#include "server/objects/kernel_memory.h"

CUresult server_do_ga_context_create_part(struct server_app *app,
                                          const struct ga_context_create_part_args *args,
                                          struct ga_context_create_part_results *results)
{
    const struct made_context made = {
        .flags = args->flags & CONTEXT_FLAGS, .sms = args->sms, .part = true};
    return context_make(app, app->call.session, args->context, API_CONTEXT_EXPLICIT, &made,
                        &results->given);
}

CUresult server_do_ga_context_create(struct server_app *app,
                                     const struct ga_context_create_args *args)
{
    return context_open(app, app->call.session, args);
}

CUresult server_do_cuCtxSetLimit(struct server_app *app, const struct cuCtxSetLimit_args *args)
{
    return app->current != NULL ? kernel_memory_limit(app, app->current, args->limit, args->value)
                                : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_ga_context_destroy(struct server_app *app,
                                      const struct ga_context_destroy_args *args)
{
    struct server_context *context = ga_handle_table_find(&app->objects.contexts, args->context);
    return context != NULL ? context_clear_after_work(app, context, false)
                           : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_ga_context_reset(struct server_app *app,
                                    const struct ga_context_reset_args *args)
{
    struct server_context *context = ga_handle_table_find(&app->objects.contexts, args->context);
    return context != NULL ? context_clear_after_work(app, context, true)
                           : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_ga_context_synchronize(struct server_app *app)
{
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    struct completer_entry *entry = server_entry_make(app, COMPLETER_REPLY);
    CUresult rc =
        entry != NULL ? context_mark(app, app->current, &entry->marks) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn_of(app)->completer, entry);
        return rc;
    }
    completer_add(&conn_of(app)->completer, entry);
    return SERVER_ANSWERED;
}
