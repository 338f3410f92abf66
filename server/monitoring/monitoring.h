/* SPDX-License-Identifier: Apache-2.0 */
/* Monitoring: reports of the state of gpuaasd, over HTTP and in the log. It reads the rooms of
 * gpuaasd, and changes nothing there. */
#ifndef SERVER_MONITORING_MONITORING_H
#define SERVER_MONITORING_MONITORING_H

#include <uv.h>

#include "base/status.h"
#include "conf/conf.h"
#include "server/access/access.h"
#include "server/applications/applications.h"
#include "server/clients/clients.h"
#include "server/processes/processes.h"
#include "server/usage/usage.h"

/* The rooms that it reads. */
struct monitoring {
    uv_loop_t *loop;
    struct server_timers *timers;
    const struct conf *conf;
    struct processes *processes;
    struct usage *usage;
    struct access *access;
    struct applications *applications;
    struct clients *clients;
};

/* `clients` are there when it is. */
void monitoring_init(struct monitoring *monitoring, struct clients *clients);
/* Behind the listeners. An error has been logged. */
GA_CHECKED enum ga_status monitoring_start(struct monitoring *monitoring);
/* When the loop has ended: it answers until then, since programs may go on for a while. Also if it
 * has not started. */
void monitoring_stop(struct monitoring *monitoring);
/* Logs the state of gpuaasd (SIGUSR1). */
void monitoring_log(const struct monitoring *monitoring);

#endif
