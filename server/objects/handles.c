/* SPDX-License-Identifier: Apache-2.0 */
/* Handles and ranges: what a client names is looked up here and nowhere else. */
#include "server/objects/handles.h"

#include <stdlib.h>

#include "server/app/app.h"
#include "server/app/current_context.h"

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
