/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: made of the driver's own resources, so that they have the multiprocessors that
 * the client means. Their objects are the primary context's.
 *
 * What a reader would get wrong: the default stream of a green context has no handle in CUDA. Here
 * it is a stream whose real handle is NULL; code that uses it makes the green context current first
 * (stream_apply). */
#include "server/calls/green.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/current_context.h"
#include "server/calls/stream.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/driver/driver.h"
#include "server/objects/contexts.h"
#include "server/objects/handles.h"
#include "server/objects/mapped_memory.h"

static struct server_green *green_find(struct server_app *app, uint64_t wire)
{
    return ga_handle_table_find(&app->objects.greens, wire);
}

#if CUDA_VERSION >= 12040

static bool has(const struct made_green *args, unsigned sm)
{
    unsigned pair = sm / 2;
    return pair < 64 * API_GREEN_WORDS && (args->pairs[pair / 64] >> pair % 64 & 1) != 0;
}

/* How many multiprocessors of these the client wants. */
static unsigned wanted(const struct made_green *args, unsigned first, unsigned count)
{
    unsigned found = 0;
    for (unsigned i = first; i < first + count; i++) {
        found += has(args, i);
    }
    return found;
}

/* Cuts the whole device as finely as the flags let it, and takes the parts that are wanted. NULL
 * in `*desc`: it cannot be cut so. */
static CUresult cut(struct server_app *app, const CUdevResource *device, unsigned flags,
                    const struct made_green *args, CUdevResourceDesc *desc)
{
    const struct cuda_driver *driver = app->driver;
    CUdevResource rest;
    unsigned count = 0, taken = 0, first = 0;
    CU_TRY(driver->cuDevSmResourceSplitByCount(NULL, &count, device, NULL, flags, 0));
    CUdevResource *parts = calloc(count + 1u, sizeof *parts);
    if (parts == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = driver->cuDevSmResourceSplitByCount(parts, &count, device, &rest, flags, 0);
    if (rc == CUDA_SUCCESS && rest.type == CU_DEV_RESOURCE_TYPE_SM) {
        parts[count++] = rest;
    }
    bool fits = rc == CUDA_SUCCESS;
    for (unsigned i = 0; fits && i < count; i++) {
        unsigned sms = parts[i].sm.smCount, of_it = wanted(args, first, sms);
        first += sms;
        fits = of_it == 0 || of_it == sms;
        if (of_it != 0) {
            parts[taken++] = parts[i];
        }
    }
    *desc = NULL;
    if (fits && taken != 0) {
        rc = driver->cuDevResourceGenerateDesc(desc, parts, taken);
    }
    free(parts);
    return rc;
}

static CUresult resources(struct server_app *app, CUdevice device, const struct made_green *args,
                          CUdevResourceDesc *desc)
{
    CUdevResource all;
    CUresult rc = app->driver->cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
    if (rc == CUDA_SUCCESS && wanted(args, 0, all.sm.smCount) == all.sm.smCount) {
        return app->driver->cuDevResourceGenerateDesc(desc, &all, 1);
    }
    if (rc == CUDA_SUCCESS) {
        rc = cut(app, &all, 0, args, desc);
    }
    if (rc == CUDA_SUCCESS && *desc == NULL) {
        rc = cut(app, &all, CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, args, desc);
    }
    return rc == CUDA_SUCCESS && *desc == NULL ? CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION : rc;
}

/* Puts a stream of the driver (NULL: the default one) under the client's handle, or destroys it. */
static CUresult stream_put(struct server_app *app, struct server_green *green, uint64_t wire,
                           CUstream real)
{
    struct server_stream *stream = calloc(1, sizeof *stream);
    enum ga_status status = GA_NO_MEMORY;
    if (stream != NULL) {
        *stream = (struct server_stream){.context = green->context,
                                         .handle = wire,
                                         .real = real,
                                         .green = green,
                                         .made_from = stream_made_from(app, real),
                                         .lane = ++app->objects.last_lane,
                                         .special = real == NULL};
        status = ga_handle_table_take(&app->objects.streams, wire, stream);
    }
    if (status != GA_OK) {
        free(stream);
        if (real != NULL) {
            (void)app->driver->cuStreamDestroy_v2(real);
        }
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_append(&green->context->streams, &stream->link);
    return CUDA_SUCCESS;
}

CUresult green_real_make(struct server_app *app, struct server_green *green)
{
    const struct cuda_driver *driver = app->driver;
    CUdevice device = green->context->session->real;
    CUdevResourceDesc desc = NULL;
    CU_TRY(resources(app, device, &green->made_from, &desc));
    CU_TRY(driver->cuGreenCtxCreate(&green->real, desc, device, CU_GREEN_CTX_DEFAULT_STREAM));
    CUresult rc = driver->cuCtxFromGreenCtx(&green->as_context, green->real);
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuGreenCtxDestroy(green->real);
    }
    return rc;
}

/* By estimate: as much as a context. A driver that counts takes nothing for it. */
static CUresult green_charge(struct server_app *app, struct server_green *green)
{
    const struct server_session *session = green->context->session;
    uint64_t bytes = driver_counts(app->driver) == NULL ? session->context_bytes : 0;
    CU_TRY(memory_charge(app, session, bytes));
    green->bytes = bytes;
    return CUDA_SUCCESS;
}

static void green_return(struct server_app *app, const struct server_green *green)
{
    ledger_return_device(app->ledger, green->context->session->gpu, green->bytes);
}

CUresult server_do_ga_green_create(struct server_app *app, const struct ga_green_create_args *args)
{
    struct server_context *context = ga_handle_table_find(&app->objects.contexts, args->context);
    if (context == NULL || !context->primary) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (app->host->shares_process) {
        return CUDA_ERROR_NOT_SUPPORTED; /* the driver's own primary context is all the others' */
    }
    struct server_green *green = calloc(1, sizeof *green);
    if (green == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    green->context = context;
    green->handle = args->green;
    memcpy(green->made_from.pairs, args->pairs, sizeof green->made_from.pairs);
    CUresult rc = green_charge(app, green);
    if (rc == CUDA_SUCCESS) {
        rc = green_real_make(app, green);
    }
    if (rc != CUDA_SUCCESS) {
        green_return(app, green);
        free(green);
        return rc;
    }
    enum ga_status status = ga_handle_table_take(&app->objects.greens, args->green, green);
    if (status != GA_OK) {
        (void)app->driver->cuGreenCtxDestroy(green->real);
        green_return(app, green);
        free(green);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_append(&context->greens, &green->link);
    rc = stream_put(app, green, args->stream, NULL);
    if (rc != CUDA_SUCCESS) {
        (void)green_free(app, green);
    }
    return rc;
}

CUresult green_free(struct server_app *app, struct server_green *green)
{
    const struct cuda_driver *driver = app->driver;
    CUresult first = CUDA_SUCCESS;
    ga_list_each (at, next, &green->context->streams) {
        struct server_stream *stream = ga_container(at, struct server_stream, link);
        if (stream->green == green) {
            CUresult rc = stream_free(app, stream);
            first = first == CUDA_SUCCESS ? rc : first;
        }
    }
    CUresult rc = driver->cuGreenCtxDestroy(green->real);
    green_return(app, green);
    (void)ga_handle_table_remove(&app->objects.greens, green->handle);
    ga_list_remove(&green->link);
    free(green);
    return first == CUDA_SUCCESS ? rc : first;
}

/* The work that was there when the client ended it is done. */
static void end_later(struct server_app *app, struct completer_entry *entry)
{
    const struct wire_header header = {.session = entry->session, .sequence = entry->sequence};
    struct server_green *green = green_find(app, entry->job_values[0]);
    CUresult rc = CUDA_ERROR_INVALID_CONTEXT; /* its context has ended, and it with that */
    if (green != NULL) {
        rc = green_drain(app, green);
    }
    if (green != NULL && !conn_gives_up(conn_of(app))) { /* else the end frees everything */
        CUresult freed = green_free(app, green);
        rc = rc == CUDA_SUCCESS ? freed : rc;
    }
    context_apply(app, app->current);
    server_reply(app, &header, rc);
}

static CUresult end(struct server_app *app, struct server_green *green)
{
    struct completer_entry *entry = server_entry_make(app, COMPLETER_JOB);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void)green_mark(app, green,
                     &entry->marks); /* what cannot be marked is waited for at the end */
    entry->job = end_later;
    entry->job_values[0] = green->handle;
    entry->between_frames = true;
    completer_add(&conn_of(app)->completer, entry);
    return SERVER_ANSWERED;
}

/* One that waits for the default stream is made while the green context is current. */
CUresult green_stream_make(struct server_app *app, const struct server_green *green, unsigned flags,
                           int priority, CUstream *real)
{
    app->elsewhere = true;
    CU_TRY(app->driver->cuCtxSetCurrent(green->as_context));
    return app->driver->cuStreamCreateWithPriority(real, flags, priority);
}

CUresult server_do_ga_green_stream(struct server_app *app, const struct ga_green_stream_args *args)
{
    struct server_green *green = green_find(app, args->green);
    CUstream real = NULL;
    if (green == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(green_stream_make(app, green, args->flags, args->priority, &real));
    return stream_put(app, green, args->stream, real);
}

CUresult server_do_ga_green_wait(struct server_app *app, const struct ga_green_wait_args *args)
{
    const struct server_green *green = green_find(app, args->green);
    CUevent event;
    CU_TRY(green != NULL ? server_handle_event(app, args->event, &event)
                         : CUDA_ERROR_INVALID_HANDLE);
    return app->driver->cuGreenCtxWaitEvent(green->real, event);
}

#else

CUresult server_do_ga_green_create(struct server_app *app, const struct ga_green_create_args *args)
{
    (void)app, (void)args;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult green_real_make(struct server_app *app, struct server_green *green)
{
    (void)app, (void)green;
    return CUDA_ERROR_NOT_SUPPORTED; /* there is none */
}

CUresult green_stream_make(struct server_app *app, const struct server_green *green, unsigned flags,
                           int priority, CUstream *real)
{
    (void)app, (void)green, (void)flags, (void)priority, (void)real;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult green_free(struct server_app *app, struct server_green *green)
{
    (void)app, (void)green;
    return CUDA_ERROR_NOT_SUPPORTED; /* there is none */
}

static CUresult end(struct server_app *app, struct server_green *green)
{
    return green_free(app, green);
}

CUresult server_do_ga_green_stream(struct server_app *app, const struct ga_green_stream_args *args)
{
    (void)app, (void)args;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult server_do_ga_green_wait(struct server_app *app, const struct ga_green_wait_args *args)
{
    (void)app, (void)args;
    return CUDA_ERROR_NOT_SUPPORTED;
}

#endif

CUresult server_do_ga_green_end(struct server_app *app, const struct ga_green_end_args *args)
{
    struct server_green *green = green_find(app, args->green);
    return green != NULL ? end(app, green) : CUDA_ERROR_INVALID_CONTEXT;
}
