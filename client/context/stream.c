/* SPDX-License-Identifier: Apache-2.0 */
#include "client/context/stream.h"

#include "client/conn/conn.h"
#include "client/context/context.h"
#include "client/context/mark.h"

static unsigned long long ids = 16;

static void stream_begin(void *at)
{
    struct client_stream *stream = at;
    stream->id = ++ids;
    stream->attributes = front_stream_attributes_new;
}

const struct client_object_type client_stream_type = {.bytes = sizeof(struct client_stream),
                                                      .begin = stream_begin};

void client_stream_announce(struct client_context *context, unsigned flags)
{
    if ((flags & CU_STREAM_NON_BLOCKING) != 0) {
        atomic_store(&context->nonblocking, true);
    }
}

/* Legacy streams share the numbers with contexts: bit 63 tells them from made streams. */
unsigned long long client_stream_id(const struct client_context *context,
                                    const struct client_stream *stream)
{
    return stream != NULL ? stream->id : 1ull << 63 | context->id;
}

static _Atomic uint64_t *ready_of(struct client_context *context, uint64_t handle)
{
    struct client_stream *stream =
        handle != 0 ? client_object_find(GA_HANDLE_STREAM, handle) : NULL;
    return handle == 0 ? &context->legacy_ready : stream != NULL ? &stream->ready : NULL;
}

void client_stream_reached(struct client_context *context, uint64_t stream, uint64_t mark)
{
    _Atomic uint64_t *ready = ready_of(context, stream);
    if (ready != NULL) {
        client_conn_raise(ready, mark);
    }
}

void client_streams_reached(struct client_context *context, uint64_t stream, uint64_t mark)
{
    const struct client_stream *first =
        stream != 0 ? client_object_find(GA_HANDLE_STREAM, stream) : NULL;
    uint64_t green = first != NULL ? first->green : 0;
    client_stream_reached(context, stream, mark);
    pthread_mutex_lock(&client_state_lock);
    ga_list_each (at, next, &context->objects) {
        struct client_object *object = ga_container(at, struct client_object, in_context);
        struct client_stream *made = ga_container(object, struct client_stream, object);
        if (object->type == GA_HANDLE_STREAM && made->green == green) {
            client_conn_raise(&made->ready, mark);
        }
    }
    pthread_mutex_unlock(&client_state_lock);
}

bool client_stream_passed(struct client_context *context, uint64_t stream, uint64_t mark)
{
    const _Atomic uint64_t *ready = ready_of(context, stream);
    return (ready != NULL && client_mark_reaches(atomic_load(ready), mark)) ||
           client_context_passed(context, mark);
}

bool client_stream_idle(struct client_context *context, uint64_t stream)
{
    const struct client_conn *conn = client_session_conn(context->session);
    return client_stream_passed(context, stream, client_mark_of(conn, client_conn_worked(conn)));
}
