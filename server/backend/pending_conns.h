/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to this process that have not shown a ticket yet. The main thread's. */
#ifndef SERVER_BACKEND_PENDING_CONNS_H
#define SERVER_BACKEND_PENDING_CONNS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/pending.h"
#include "server/workers.h"
#include "transport/transport.h"

struct backend;

struct pending_conn {
    struct pending_entry entry;
    struct transport_conn conn;
    struct frame_reader reader; /* without a buffer before its first byte */
    struct pollfd watched[TRANSPORT_POLL_MAX];
    unsigned watched_count;
    bool again;  /* it need not wait */
    bool closed; /* or taken over: freed at the end of the turn, or of its step */
    /* With TLS, bytes are received in a worker, because the handshake takes long. */
    bool tls;
    bool stepping; /* a worker has connection and reader */
    enum ga_status step_status;
    struct worker_job job;
    struct ga_list dead;
};

struct pending_conns {
    struct pending_table table;
    int epoll_fd; /* what they wait for */
    struct workers workers;
    struct ga_list dead;
    bool again;            /* some need not wait */
    uint64_t accept_at_ns; /* 0, or descriptors or memory had run out: not before */
};

/* GA_NO_MEMORY: no memory or descriptors. */
GA_CHECKED enum ga_status pending_conns_init(struct backend *backend);
/* Whether new ones may be accepted now. */
bool pending_conns_accepts(const struct backend *backend);
/* Accepts some of those that wait. `tls`: the listener encrypts. */
void pending_conns_accept(struct backend *backend, struct transport_listener *listener, bool tls);
/* Adds an open connection, which it takes. GA_NO_MEMORY: it has been closed. */
GA_CHECKED enum ga_status pending_conns_add(struct backend *backend,
                                            const struct transport_conn *conn, bool tls);
/* Fills what to poll for them: PENDING_CONNS_POLLS entries. False: some need not wait. */
#define PENDING_CONNS_POLLS 2
bool pending_conns_poll(const struct backend *backend, struct pollfd fds[PENDING_CONNS_POLLS]);
/* Serves those that have said something. */
void pending_conns_turn(struct backend *backend);
/* Waits for it no more, until it is judged again: somebody is about to take it over, who may close
 * its descriptor at any time from then on. */
void pending_conns_unwatch(struct backend *backend, struct pending_conn *conn);
/* Closes all. */
void pending_conns_end(struct backend *backend);

#endif
