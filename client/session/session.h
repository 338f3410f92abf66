/* Sessions: this application on one device. Opened with a device's first context; the device's
 * `open_lock` is held. And the connections they use. */
#ifndef CLIENT_SESSION_SESSION_H
#define CLIENT_SESSION_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/alloc/allocator.h"

struct client_allocator;
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
    unsigned contexts;   /* that have ever been used */
    atomic_bool reached; /* not only the context that owns memory may use it: there are, or were,
                          * others of the device, or peers */
};

/* What became of the context that was to be made with the session. */
struct client_first {
    bool made; /* the server has tried, and `result` says how that went */
    CUresult result;
    uint64_t block_bytes; /* mapped at the start of the window */
};

CUresult client_session_open(const struct client_context *context, struct client_session **out,
                             struct client_first *first);
/* That of a device, opened if no context has done so; no `open_lock` is held. */
CUresult client_session_need(CUdevice device, struct client_session **session);
/* Waits for the work of all its contexts; NULL: there are none. */
CUresult client_session_wait(const struct client_session *session);
/* Every connection there is; NULL ends. Connections are never taken away. */
struct client_conn *client_conn_at_index(unsigned index);
struct client_conn *client_conn_of_process(const struct client_server *server, uint64_t process);
void client_conn_add(struct client_conn *conn);

#endif
