/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: this application on one device. A session is opened with the device's first context,
 * under the device's `open_lock`. Also the connections that sessions use. */
#ifndef CLIENT_SESSION_SESSION_H
#define CLIENT_SESSION_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/alloc/allocator.h"

struct client_conn;
struct client_context;
struct client_server;

/* A session: this application on one device. */
struct client_session {
    struct client_conn *conn;
    struct client_server *server;
    uint16_t number;
    uint64_t window_base, window_bytes; /* bytes 0: none, the session is unpinned */
    struct client_allocator allocator;
    atomic_bool
        reached; /* contexts of other devices may use memory, too: peer access was enabled */
};

/* The connection by which its calls go. To be asked for each call anew: it is another one when the
 * session has moved to another server. */
static inline struct client_conn *client_session_conn(const struct client_session *session)
{
    return session->conn;
}

/* The result of making a context together with the session. */
struct client_first {
    bool made; /* the server has tried; see `result` */
    CUresult result;
    uint64_t block_bytes; /* mapped at the start of the window */
};

CUresult client_session_open(const struct client_context *context, struct client_session **out,
                             struct client_first *first);
/* The session of a device, opened if no context has done so. Call without `open_lock`. */
CUresult client_session_need(CUdevice device, struct client_session **session);
/* Waits for the work of all contexts of the session; NULL: there is no session. */
CUresult client_session_wait(const struct client_session *session);
/* The n-th connection; NULL: there are no more. Connections are never removed. */
struct client_conn *client_conn_at_index(unsigned index);
struct client_conn *client_conn_of_process(const struct client_server *server, uint64_t process);
void client_conn_add(struct client_conn *conn);

#endif
