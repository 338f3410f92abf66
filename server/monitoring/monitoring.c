/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitoring/monitoring.h"

#include "server/monitoring/http.h"
#include "server/monitoring/status.h"

void monitoring_init(struct monitoring *monitoring, struct clients *clients)
{
    *monitoring = (struct monitoring){.loop = clients->loop,
                                      .timers = clients->timers,
                                      .conf = clients->conf,
                                      .processes = clients->processes,
                                      .usage = clients->applications->usage,
                                      .access = clients->access,
                                      .applications = clients->applications,
                                      .clients = clients};
}

enum ga_status monitoring_start(struct monitoring *monitoring)
{
    return http_start(monitoring);
}

void monitoring_stop(struct monitoring *monitoring)
{
    (void)monitoring;
    http_stop();
}

void monitoring_log(const struct monitoring *monitoring)
{
    status_log(monitoring);
}
