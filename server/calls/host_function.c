/* SPDX-License-Identifier: Apache-2.0 */
/* A function of the program in a stream: an event that says when its turn has come, and a wait
 * until the client says that it has returned. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/objects/driver_events.h"
#include "server/objects/handles.h"

/* Waits while all leases are under way: their functions run without any further call. */
static CUresult lease(struct server_app *app, struct host_wait *wait)
{
    CUdevice device = app->call.session->real;
    uint64_t sequence = app->call.header->sequence;
    CUresult rc;
    while ((rc = host_lease_try(&conn_of(app)->host_calls, device, sequence, wait)) ==
               CUDA_ERROR_NOT_READY &&
           !atomic_load(&conn_of(app)->ended)) {
        conn_flush(conn_of(app));
        host_lease_wait(&conn_of(app)->host_calls);
    }
    return rc;
}

static CUresult put(struct server_app *app, uint64_t wire, const struct host_wait *wait,
                    struct completer_entry *entry)
{
    CUstream stream;
    CU_TRY(server_handle_stream(app, wire, &stream));
    CU_TRY(stream_mark(app, wire, &entry->event, &entry->base.lane));
    return app->driver->cuStreamWaitValue32_v2(stream, wait->address, wait->number,
                                               CU_STREAM_WAIT_VALUE_GEQ);
}

CUresult server_do_ga_host_function(struct server_app *app,
                                    const struct ga_host_function_args *args)
{
    struct completer_entry *entry = server_entry_make(app, COMPLETER_HOST);
    if (entry == NULL) {
        server_fail(app, "no memory for a host function");
        return SERVER_ANSWERED;
    }
    struct host_wait wait;
    CUresult rc = lease(app, &wait);
    if (rc == CUDA_SUCCESS) {
        rc = put(app, args->stream, &wait, entry);
        if (rc == CUDA_SUCCESS) {
            entry->host_call_id = wait.id;
        } else {
            host_lease_drop(&conn_of(app)->host_calls, wait.id);
        }
    }
    if (rc != CUDA_SUCCESS) {
        server_async_error(app, app->call.header, rc);
        /* A callback is told, in its turn; the stream waits for nothing. */
        entry->kind = COMPLETER_DONE;
        entry->rc = rc;
    }
    completer_add(&conn_of(app)->completer, entry);
    return SERVER_ANSWERED;
}
