/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of gpuaasd: its control connections. Each is one of an application (application.h),
 * which may outlive it, until it has said which it is none. */
#ifndef SERVER_CLIENTS_CLIENTS_H
#define SERVER_CLIENTS_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "base/status.h"
#include "conf/conf.h"
#include "server/pending.h"
#include "server/timers.h"
#include "server/workers.h"
#include "transport/transport.h"

struct access;
struct applications;
struct auth_grant;
struct clients;
struct processes;
struct status_sink;

/* Clients of a kind of which there may be only so many, for so long (client_limits.h). */
struct clients_limit {
    struct pending_table table;
    uint64_t limit_ns; /* 0: for ever */
    struct server_timers *timers;
    struct server_timer timer;
};

/* The part of a room above, for administrators. */
struct clients_admins {
    /* Takes the connection of an authenticated administrator, with its grant (malloc); `address` is
     * its place. */
    void (*take)(struct clients *clients, const struct transport_conn *conn,
                 struct auth_grant *grant, const char *address);
};

struct clients {
    uv_loop_t *loop;
    struct server_timers *timers;
    const struct conf *conf;
    struct processes *processes;
    struct applications *applications;
    struct access *access;
    const struct clients_admins *admins; /* NULL: none come by the network */
    struct ga_list all;                  /* struct control_client */
    uint32_t count;                      /* that have greeted */
    struct clients_limit pending;        /* those that have not */
    struct clients_limit idle;           /* those that have, and use nothing */
    struct workers workers;              /* for steps of TLS handshakes (client_steps.h) */
    uv_poll_t steps;
    struct server_timer slow_steps; /* until it is time for one */
};

/* All but `clients` is borrowed, and there when it is. `pending_most`: so many may not have
 * greeted. GA_NO_MEMORY. */
GA_CHECKED enum ga_status clients_init(struct clients *clients, struct applications *applications,
                                       uint32_t pending_most, const struct clients_admins *admins);
/* Ends what has begun; all clients have been closed. */
void clients_fini(struct clients *clients);
/* Takes ownership of the connection. `tls`: it is encrypted, and its data must be, too. */
void control_client_accept(struct clients *clients, const struct transport_conn *conn, bool tls);
/* Tells the sink each client. */
void clients_status(const struct clients *clients, const struct status_sink *sink);
/* Closes all. */
void clients_close(struct clients *clients);

#endif
