/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: made, emptied, ended, waited for. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/calls/context_end.h"
#include "server/session/conn.h"
#include "server/session/context_open.h"
#include "server/session/contexts.h"
#include "server/session/reply.h"

CUresult server_do_ga_context_create_part(struct server_conn *conn,
                                          const struct ga_context_create_part_args *args,
                                          struct ga_context_create_part_results *results)
{
    const struct made_context made = {
        .flags = args->flags & CONTEXT_FLAGS, .sms = args->sms, .part = true};
    return context_make(conn, conn->call.session, args->context, API_CONTEXT_EXPLICIT, &made,
                        &results->given);
}

CUresult server_do_ga_context_create(struct server_conn *conn,
                                     const struct ga_context_create_args *args)
{
    return context_open(conn, conn->call.session, args);
}

CUresult server_do_cuCtxSetLimit(struct server_conn *conn, const struct cuCtxSetLimit_args *args)
{
    return conn->current != NULL
               ? kernel_memory_limit(conn, conn->current, args->limit, args->value)
               : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_ga_context_destroy(struct server_conn *conn,
                                      const struct ga_context_destroy_args *args)
{
    struct server_context *context = ga_handle_table_find(&conn->objects.contexts, args->context);
    return context != NULL ? context_clear_after_work(conn, context, false)
                           : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_ga_context_reset(struct server_conn *conn,
                                    const struct ga_context_reset_args *args)
{
    struct server_context *context = ga_handle_table_find(&conn->objects.contexts, args->context);
    return context != NULL ? context_clear_after_work(conn, context, true)
                           : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_ga_context_synchronize(struct server_conn *conn)
{
    if (conn->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    struct completer_entry *entry = server_entry_make(conn, COMPLETER_REPLY);
    CUresult rc =
        entry != NULL ? context_mark(conn, conn->current, entry) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn->completer, entry);
        return rc;
    }
    completer_add(&conn->completer, entry);
    return SERVER_ANSWERED;
}
