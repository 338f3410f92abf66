/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: made, emptied, ended, waited for. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/session/conn.h"

/* Scheduling flags only matter to threads that wait, and those are on the client. */
#define CONTEXT_FLAGS (CU_CTX_LMEM_RESIZE_TO_MAX)

static CUresult context_make(struct server_conn *conn, struct server_session *session,
                             const struct ga_context_create_args *args, CUcontext *real)
{
    const struct cuda_driver *driver = conn->driver;
    CUcontext popped;
    if (args->kind == API_CONTEXT_PRIMARY) {
        return driver->cuDevicePrimaryCtxRetain(real, session->real);
    }
    CU_TRY(driver->cuCtxCreate_v2(real, args->flags & CONTEXT_FLAGS, session->real));
    (void)driver->cuCtxPopCurrent_v2(&popped);
    return CUDA_SUCCESS;
}

static void context_unmake(struct server_conn *conn, const struct server_session *session,
                           uint32_t kind, CUcontext real)
{
    if (kind == API_CONTEXT_PRIMARY) {
        (void)conn->driver->cuDevicePrimaryCtxRelease_v2(session->real);
    } else {
        (void)conn->driver->cuCtxDestroy_v2(real);
    }
}

/* Takes the driver's context. */
static CUresult context_enter(struct server_conn *conn, struct server_session *session,
                              uint64_t handle, uint32_t kind, struct made_context made_from,
                              CUcontext real)
{
    struct server_context *context = calloc(1, sizeof *context);
    enum ga_status status = GA_NO_MEMORY;
    if (context != NULL) {
        *context = (struct server_context){.handle = handle,
                                           .session = session,
                                           .real = real,
                                           .primary = kind == API_CONTEXT_PRIMARY,
                                           .made_from = made_from,
                                           .null_lane = ++conn->objects.last_lane};
        status = ga_handle_table_take(&conn->objects.contexts, handle, context);
    }
    if (status != GA_OK) {
        context_unmake(conn, session, kind, real);
        free(context);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_init(&context->streams);
    ga_list_init(&context->events);
    ga_list_init(&context->modules);
    ga_list_init(&context->arrays);
    ga_list_init(&context->textures);
    ga_list_init(&context->graphs);
    ga_list_init(&context->conditions);
    ga_list_init(&context->greens);
    ga_list_init(&context->free_events);
    ga_list_append(&conn->objects.context_list, &context->link);
    return CUDA_SUCCESS;
}

CUresult context_open(struct server_conn *conn, struct server_session *session,
                      const struct ga_context_create_args *args)
{
    CUcontext real = NULL;
    if (args->kind > API_CONTEXT_EXPLICIT) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(context_make(conn, session, args, &real));
    const struct made_context made = {.flags = args->flags & CONTEXT_FLAGS};
    return context_enter(conn, session, args->context, args->kind, made, real);
}

/* One that has some of the multiprocessors, which is current when it is made. */
static CUresult part_make(struct server_conn *conn, struct server_session *session,
                          const struct ga_context_create_part_args *args, CUcontext *real,
                          uint32_t *given)
{
    const struct cuda_driver *driver = conn->driver;
    CUcontext popped;
    CUexecAffinityParam wanted = {.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT,
                                  .param.smCount.val = args->sms};
    CU_TRY(driver->cuCtxCreate_v3(real, &wanted, 1, args->flags & CONTEXT_FLAGS, session->real));
    CUresult rc = driver->cuCtxGetExecAffinity(&wanted, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    *given = wanted.param.smCount.val;
    (void)driver->cuCtxPopCurrent_v2(&popped);
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuCtxDestroy_v2(*real);
    }
    return rc;
}

CUresult server_do_ga_context_create_part(struct server_conn *conn,
                                          const struct ga_context_create_part_args *args,
                                          struct ga_context_create_part_results *results)
{
    CUcontext real;
    CU_TRY(part_make(conn, conn->call.session, args, &real, &results->given));
    const struct made_context made = {.flags = args->flags & CONTEXT_FLAGS, .sms = args->sms};
    return context_enter(conn, conn->call.session, args->context, API_CONTEXT_EXPLICIT, made, real);
}

CUresult server_do_ga_context_create(struct server_conn *conn,
                                     const struct ga_context_create_args *args)
{
    return context_open(conn, conn->call.session, args);
}

/* Remembers what the limit was, for a reset. */
CUresult server_do_cuCtxSetLimit(struct server_conn *conn, const struct cuCtxSetLimit_args *args)
{
    size_t before = 0;
    struct server_context *context = conn->current;
    bool first = context != NULL && (unsigned)args->limit < CU_LIMIT_MAX &&
                 (context->limits_set >> args->limit & 1) == 0 &&
                 conn->driver->cuCtxGetLimit(&before, args->limit) == CUDA_SUCCESS;
    CUresult rc = conn->driver->cuCtxSetLimit(args->limit, args->value);
    if (first && rc == CUDA_SUCCESS) {
        context->limits[args->limit] = before;
        context->limits_set |= 1u << args->limit;
    }
    return rc;
}

CUresult server_do_ga_context_destroy(struct server_conn *conn,
                                      const struct ga_context_destroy_args *args)
{
    struct server_context *context = ga_handle_table_find(&conn->objects.contexts, args->context);
    return context != NULL ? context_clear(conn, context, false) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_ga_context_reset(struct server_conn *conn,
                                    const struct ga_context_reset_args *args)
{
    struct server_context *context = ga_handle_table_find(&conn->objects.contexts, args->context);
    return context != NULL ? context_clear(conn, context, true) : CUDA_ERROR_INVALID_CONTEXT;
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
