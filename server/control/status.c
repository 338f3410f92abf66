/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/status.h"

#include <stddef.h>

#include "base/log.h"
#include "server/control/client.h"
#include "server/control/control.h"

void status_collect(const struct control *control, const struct status_sink *sink)
{
    uint32_t spares = 0;
    if (sink->client != NULL) {
        control_client_status(control, sink);
    }
    if (sink->process != NULL) {
        backend_process_status(&control->processes, sink);
    }
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        spares += control->spares[i].count;
    }
    if (sink->node != NULL) {
        const struct node_status node = {.client_count = control->client_count,
                                         .process_count = control->processes.count - spares,
                                         .spare_count = spares};
        sink->node(sink->user, &node);
    }
}

/* ---- the log */

static void log_client(void *user, const struct status_client *client)
{
    (void)user;
    ga_info_each(client->address, "report: %s: %s, %u devices waited for", client->label,
                 client->greeted ? "connected" : "not greeted", client->opens);
}

static void log_process(void *user, const struct status_process *process)
{
    (void)user;
    ga_info_each(process->client, "report: backend process %d of %s: %s, %u tickets",
                 (int)process->pid, process->label, process->state, process->tickets);
}

static void log_node(void *user, const struct node_status *node)
{
    (void)user;
    ga_info_each(NULL, "report: %u clients, %u backend processes, %u spare", node->client_count,
                 node->process_count, node->spare_count);
}

void status_log(const struct control *control)
{
    const struct status_sink sink = {
        .client = log_client, .process = log_process, .node = log_node};
    status_collect(control, &sink);
}
