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
    CUresult rc = driver->cuCtxCreate_v2(real, args->flags & CONTEXT_FLAGS, session->real);
    if (rc == CUDA_SUCCESS) {
        (void)driver->cuCtxPopCurrent_v2(&popped);
    }
    return rc;
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
                              uint64_t handle, uint32_t kind, CUcontext real)
{
    struct server_context *context = calloc(1, sizeof *context);
    enum ga_status status = GA_NO_MEMORY;
    if (context != NULL) {
        *context = (struct server_context){.handle = handle,
                                           .session = session,
                                           .real = real,
                                           .primary = kind == API_CONTEXT_PRIMARY,
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
    CUresult rc = context_make(conn, session, args, &real);
    return rc == CUDA_SUCCESS ? context_enter(conn, session, args->context, args->kind, real) : rc;
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
    CUresult rc =
        driver->cuCtxCreate_v3(real, &wanted, 1, args->flags & CONTEXT_FLAGS, session->real);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = driver->cuCtxGetExecAffinity(&wanted, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    *given = wanted.param.smCount.val;
    (void)driver->cuCtxPopCurrent_v2(&popped);
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuCtxDestroy_v2(*real);
    }
    return rc;
}

bool server_call_ga_context_create_part(struct server_conn *conn, const struct wire_header *header,
                                        struct ga_reader *reader)
{
    struct ga_context_create_part_args args;
    struct ga_context_create_part_results results = {0};
    ga_context_create_part_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_session *session = conn_session(conn, header);
    CUcontext real = NULL;
    CUresult rc = part_make(conn, session, &args, &real, &results.given);
    if (rc == CUDA_SUCCESS) {
        rc = context_enter(conn, session, args.context, API_CONTEXT_EXPLICIT, real);
    }
    SERVER_REPLY_RESULTS(conn, header, ga_context_create_part, rc, &results);
    return true;
}

bool server_call_ga_context_create(struct server_conn *conn, const struct wire_header *header,
                                   struct ga_reader *reader)
{
    struct ga_context_create_args args;
    ga_context_create_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    server_reply(conn, header, context_open(conn, conn_session(conn, header), &args));
    return true;
}

/* Remembers what the limit was, for a reset. */
bool server_call_cuCtxSetLimit(struct server_conn *conn, const struct wire_header *header,
                               struct ga_reader *reader)
{
    struct cuCtxSetLimit_args args;
    size_t before = 0;
    cuCtxSetLimit_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_context *context = conn->current;
    bool first = context != NULL && (unsigned)args.limit < CU_LIMIT_MAX &&
                 (context->limits_set >> args.limit & 1) == 0 &&
                 conn->driver->cuCtxGetLimit(&before, args.limit) == CUDA_SUCCESS;
    CUresult rc = conn->driver->cuCtxSetLimit(args.limit, args.value);
    if (first && rc == CUDA_SUCCESS) {
        context->limits[args.limit] = before;
        context->limits_set |= 1u << args.limit;
    }
    server_reply(conn, header, rc);
    return true;
}

bool server_call_ga_context_destroy(struct server_conn *conn, const struct wire_header *header,
                                    struct ga_reader *reader)
{
    struct ga_context_destroy_args args;
    ga_context_destroy_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_context *context = ga_handle_table_find(&conn->objects.contexts, args.context);
    server_reply(conn, header,
                 context != NULL ? context_clear(conn, context, false)
                                 : CUDA_ERROR_INVALID_CONTEXT);
    return true;
}

bool server_call_ga_context_reset(struct server_conn *conn, const struct wire_header *header,
                                  struct ga_reader *reader)
{
    struct ga_context_reset_args args;
    ga_context_reset_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct server_context *context = ga_handle_table_find(&conn->objects.contexts, args.context);
    server_reply(conn, header,
                 context != NULL ? context_clear(conn, context, true) : CUDA_ERROR_INVALID_CONTEXT);
    return true;
}

bool server_call_ga_context_synchronize(struct server_conn *conn, const struct wire_header *header,
                                        struct ga_reader *reader)
{
    if (!ga_reader_done(reader)) {
        return false;
    }
    if (conn->current == NULL) {
        server_reply(conn, header, CUDA_ERROR_INVALID_CONTEXT);
        return true;
    }
    struct completer_entry *entry =
        completer_entry_make(&conn->completer, COMPLETER_REPLY, header->session, header->sequence);
    CUresult rc =
        entry != NULL ? context_mark(conn, conn->current, entry) : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn->completer, entry);
        server_reply(conn, header, rc);
        return true;
    }
    completer_add(&conn->completer, entry);
    return true;
}
