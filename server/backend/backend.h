/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process: the program started with --backend on one end of a channel. All of it is the
 * main thread's, unless a member says otherwise. */
#ifndef SERVER_BACKEND_BACKEND_H
#define SERVER_BACKEND_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/backend/application.h"
#include "server/backend/control_request.h"
#include "server/channel.h"
#include "server/driver/driver.h"
#include "transport/transport.h"

#define PENDING_CONNS_MAX 16u /* without a ticket; more wait in the listener's queue */

/* A connection that has not yet shown a ticket. */
struct pending_conn {
    struct transport_conn conn;
    struct frame_reader reader;
    uint64_t deadline_ns;
};

struct backend {
    struct channel_setup setup;
    struct cuda_driver driver;
    struct output_redirection output; /* what the driver prints */
    struct figures_page *figures;     /* of its applications; gpuaasd sees them */
    int wake_fd; /* a data connection has ended, or gpuaasd has told something */
    struct pending_conn pending_conns[PENDING_CONNS_MAX];
    unsigned pending_conn_count;
    uint64_t accept_at_ns;       /* 0, or descriptors or memory had run out: not before */
    pthread_mutex_t ticket_lock; /* tickets of all applications, and reading of the channel */
    struct control_request request;
    struct application applications[CHANNEL_SEATS]; /* by their seats */
    bool winds_up;                                  /* applications end before the process does */
    _Atomic bool gpuaasd_gone;
    _Atomic bool trim_wanted; /* other applications lack memory */
};

/* How long a ticket is good. */
uint64_t backend_ticket_ns(const struct backend *backend);

/* The whole life of the process. */
_Noreturn void backend_main(void);

#endif
