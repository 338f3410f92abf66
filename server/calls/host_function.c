/* SPDX-License-Identifier: Apache-2.0 */
/* A function of the program in a stream: an event that says when its turn has come, and a wait
 * until the client says that it has returned. */
#include <stdlib.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/session/conn.h"

/* Waits while all leases are under way: their functions run without any further call. */
static CUresult lease(struct server_conn *conn, const struct wire_header *header,
                      struct host_wait *wait)
{
    CUdevice device = conn_session(conn, header)->real;
    CUresult rc;
    while ((rc = host_lease_try(&conn->host_calls, device, header->sequence, wait)) ==
               CUDA_ERROR_NOT_READY &&
           !atomic_load(&conn->ended)) {
        conn_flush(conn);
        host_lease_wait(&conn->host_calls);
    }
    return rc;
}

static CUresult put(struct server_conn *conn, uint64_t wire, const struct host_wait *wait,
                    struct completer_entry *entry)
{
    CUstream stream;
    CUresult rc = server_handle_stream(conn, wire, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = stream_mark(conn, wire, &entry->event, &entry->base.lane);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    return conn->driver->cuStreamWaitValue32_v2(stream, wait->address, wait->number,
                                                CU_STREAM_WAIT_VALUE_GEQ);
}

bool server_call_ga_host_function(struct server_conn *conn, const struct wire_header *header,
                                  struct ga_reader *reader)
{
    struct ga_host_function_args args;
    ga_host_function_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    struct completer_entry *entry =
        completer_entry_make(&conn->completer, COMPLETER_HOST, header->session, header->sequence);
    if (entry == NULL) {
        server_fail(conn, "no memory for a host function");
        return true;
    }
    struct host_wait wait;
    CUresult rc = lease(conn, header, &wait);
    if (rc == CUDA_SUCCESS) {
        rc = put(conn, args.stream, &wait, entry);
        if (rc == CUDA_SUCCESS) {
            entry->host_call_id = wait.id;
        } else {
            host_lease_drop(&conn->host_calls, wait.id);
        }
    }
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
        /* A callback is told, in its turn; the stream waits for nothing. */
        entry->kind = COMPLETER_DONE;
        entry->rc = rc;
    }
    completer_add(&conn->completer, entry);
    return true;
}
