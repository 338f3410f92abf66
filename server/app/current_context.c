/* SPDX-License-Identifier: Apache-2.0 */
#include "server/app/current_context.h"

#include "api/call_info.h"
#include "server/app/app.h"
#include "server/app/frame_record.h"

void context_apply(struct server_app *app, const struct server_context *context)
{
    (void)app->driver->cuCtxSetCurrent(context != NULL ? context->real : NULL);
}

static void stream_apply_special(struct server_app *app, const struct server_stream *stream)
{
    const struct server_call *call = &app->call;
    if (stream->green != NULL && stream->real == NULL) {
        (void)app->driver->cuCtxSetCurrent(stream->green->as_context);
        app->elsewhere = true;
    }
    if (stream->recording != NULL && api_facts(call->header->opcode).record == API_RECORD_WORK) {
        frame_record_add(stream->recording, call->header, call->bytes, call->values);
    }
}

void stream_apply(struct server_app *app, const struct server_stream *stream)
{
    if (stream->special) {
        stream_apply_special(app, stream);
    }
}

void stream_record(struct server_stream *stream, struct frame_record *record)
{
    stream->recording = record;
    stream->special = record != NULL || (stream->green != NULL && stream->real == NULL);
}
