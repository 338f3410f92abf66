/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a stream. Its work is done all the same and still belongs to its context, but only the
 * driver knows of it. Therefore another stream, the heir, waits for it, and gets no other work.
 * Marking the context (context_mark) marks the heir, too. */
#include "server/calls/stream.h"

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/calls/graph.h"
#include "server/meter/meter.h"
#include "server/objects/driver_events.h"

CUresult stream_free(struct server_app *app, struct server_stream *stream)
{
    graph_build_end(app, stream);
    meter_stream_end(app, stream);
    CUresult rc = stream->real != NULL ? app->driver->cuStreamDestroy_v2(stream->real)
                                       : CUDA_SUCCESS; /* a green context's, which goes with it */
    (void)ga_handle_table_remove(&app->objects.streams, stream->handle);
    server_stream_gone(&app->objects);
    ga_list_remove(&stream->link);
    free(stream);
    return rc;
}

/* The heir waits for what the stream has to do; the stream's context is current. */
static CUresult inherit(struct server_app *app, const struct server_stream *stream)
{
    const struct cuda_driver *driver = app->driver;
    struct server_context *context = stream->context;
    struct event_ref *ref;
    CUresult rc = CUDA_SUCCESS;
    if (context->heir == NULL) {
        rc = driver->cuStreamCreate(&context->heir, CU_STREAM_NON_BLOCKING);
    }
    if (rc == CUDA_SUCCESS) {
        rc = event_mark(app, context, stream->real, &ref);
    }
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuStreamWaitEvent(context->heir, ref->real, 0);
        event_drop(app, ref);
    }
    return rc;
}

/* Or may have some. One that captures has nothing to do. */
static bool has_work(const struct server_app *app, const struct server_stream *stream)
{
    return stream->build == NULL && app->driver->cuStreamQuery(stream->real) != CUDA_SUCCESS;
}

/* When nobody can inherit the stream stays, as one that no client can name. */
static CUresult destroy(struct server_app *app, struct server_stream *stream)
{
    CUresult rc = CUDA_SUCCESS;
    if (has_work(app, stream)) {
        context_apply(app, stream->context);
        rc = inherit(app, stream);
        context_apply(app, app->current);
    }
    return rc == CUDA_SUCCESS ? stream_free(app, stream) : rc;
}

CUresult server_do_cuStreamDestroy_v2(struct server_app *app,
                                      const struct cuStreamDestroy_v2_args *args)
{
    struct server_stream *stream = ga_handle_table_find(&app->objects.streams, args->hStream);
    return stream != NULL && stream->real != NULL ? destroy(app, stream)
                                                  : CUDA_ERROR_INVALID_HANDLE;
}
