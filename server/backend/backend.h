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
#include "server/backend/outbox.h"
#include "server/backend/pending_conns.h"
#include "server/channel.h"
#include "server/driver/driver.h"
#include "transport/transport.h"

struct backend {
    struct channel_setup setup;
    struct cuda_driver driver;
    struct output_redirection output; /* what the driver prints */
    struct figures_page *figures;     /* of its applications; gpuaasd sees them */
    struct grant_requests *requests;  /* for turns on the GPUs; a probe has none */
    const struct grants *grants;
    _Atomic bool turns;       /* sessions ask for them */
    _Atomic bool turns_begin; /* from now on; those that are there do not yet */
    struct gate_bell bell;    /* heard by the submit threads */
    _Atomic bool rang;        /* one has heard it: the others must look, too */
    int wake_fd;              /* a data connection has ended, or gpuaasd has told something */
    struct pending_conns pending;
    pthread_mutex_t ticket_lock; /* tickets of all applications, and reading of the channel */
    struct control_request request;
    struct outbox outbox;                           /* to gpuaasd; any thread */
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
