/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaasd itself: it listens, greets clients, hands out tickets, and keeps backend processes. It
 * needs no CUDA and touches no driver. */
#ifndef SERVER_GPUAASD_GPUAASD_H
#define SERVER_GPUAASD_GPUAASD_H

#include <stdbool.h>
#include <uv.h>

#include "conf/conf.h"
#include "server/access/access.h"
#include "server/applications/applications.h"
#include "server/clients/accept_pause.h"
#include "server/clients/clients.h"
#include "server/gpuaasd/loop_timers.h"
#include "server/gpuaasd/notify.h"
#include "server/monitoring/monitoring.h"
#include "server/processes/processes.h"
#include "server/storage/storage.h"
#include "server/usage/usage.h"
#include "transport/transport.h"

struct gpuaasd;

struct listener {
    struct gpuaasd *gpuaasd;
    struct transport_listener listener;
    char url[320]; /* as bound */
    bool tls;
    uv_poll_t poll;
    struct accept_pause pause;
    bool open;
    bool waiting; /* connections wait */
};

/* The room above, of administrators. */
struct gpuaasd_admin {
    /* Behind the listeners. An error, which it has logged, ends gpuaasd. */
    enum ga_status (*start)(struct gpuaasd *gpuaasd);
    void (*stop)(struct gpuaasd *gpuaasd); /* once, also if it has not started */
    const struct clients_admins *network;  /* takes those who come by the network */
};

struct gpuaasd {
    uv_loop_t loop;
    struct loop_timers timers;
    struct conf *conf;
    const char *file;               /* which it has been read from */
    const struct conf_server *read; /* its [server] as it stood there when gpuaasd began */
    /* The rooms, from below. */
    struct processes processes;
    struct storage storage;
    struct usage usage;
    struct access access;
    struct applications applications;
    struct clients clients;
    struct monitoring monitoring;
    const struct gpuaasd_admin *administration; /* NULL: there is none */
    struct admin *admin;                        /* of the admin room */

    uint32_t images_most;  /* images that are kept, as far as descriptors allow */
    uint32_t pending_most; /* clients that have not greeted, as far as descriptors allow */
    uv_check_t accepts;    /* behind all other events of a turn of the loop */
    struct listener listeners[CONF_LISTENS_MAX];
    unsigned listener_count;
    struct transport_secret secret; /* of those with tls */
    struct backend_process *probes[DEVICES_DRIVERS];
    struct notify notify;
    uv_signal_t signals[4];
    int exit_status;
};

/* Serves until a signal ends it; returns the exit status of the program. `file` and `conf`, which
 * was read from it, are borrowed; empty values (pool, node) are filled in. */
int gpuaasd_run(const char *file, struct conf *conf, const struct gpuaasd_admin *administration);
/* Ends what it does, and then the loop; called again, at once. */
void gpuaasd_end(struct gpuaasd *gpuaasd, int exit_status);

#endif
