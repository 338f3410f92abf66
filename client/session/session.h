/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: this application on one device. A session is opened with the device's first context,
 * under the device's `open_lock`. */
#ifndef CLIENT_SESSION_SESSION_H
#define CLIENT_SESSION_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/alloc/allocator.h"

struct client_conn;
struct client_device;
struct client_server;
struct handshake_context;

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

/* `wish`: the context to make together with the session; `first`: how that went. */
CUresult client_session_open(struct client_device *device, const struct handshake_context *wish,
                             struct client_session **out, struct client_first *first);

#endif
