/* Fences between streams. */
#include "server/fence.h"

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/conn.h"

static void end(struct server_conn *conn)
{
    event_drop(&conn->completer, conn->fence.ref);
    conn->fence.ref = NULL;
}

void fence_pass(struct server_conn *conn, CUstream real, uint64_t *passed)
{
    const struct event_ref *ref = conn->fence.ref;
    if (ref == NULL || *passed == conn->fence.number) {
        return;
    }
    *passed = conn->fence.number;
    CUresult rc = conn->driver->cuEventQuery(ref->real);
    if (rc == CUDA_ERROR_NOT_READY) {
        rc = conn->driver->cuStreamWaitEvent(real, ref->real, CU_EVENT_WAIT_DEFAULT);
    } else if (rc == CUDA_SUCCESS) {
        end(conn);
    }
    server_note(conn, rc);
}

void fence_drop(struct server_conn *conn, const struct server_context *context)
{
    if (conn->fence.ref != NULL && conn->fence.ref->context == context) {
        end(conn);
    }
}

/* The stream passes the fence before, when it is looked up: so the new one is behind both. */
bool server_call_ga_fence(struct server_conn *conn, const struct wire_header *header,
                          struct ga_reader *reader)
{
    struct ga_fence_args args;
    struct event_ref *ref;
    uint64_t line;
    ga_fence_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = stream_mark(conn, args.stream, &ref, &line);
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
        return true;
    }
    if (conn->fence.ref != NULL) {
        end(conn);
    }
    conn->fence.ref = ref;
    conn->fence.number++;
    struct server_stream *stream = ga_handle_table_find(&conn->objects.streams, args.stream);
    *(stream != NULL ? &stream->fence : &conn->current->null_fence) = conn->fence.number;
    return true;
}
