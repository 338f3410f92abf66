/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitoring/status.h"

#include <stdio.h>

#include "base/log.h"
#include "server/applications/application.h"
#include "server/applications/tenant_applications.h"
#include "server/lent.h"
#include "server/monitoring/monitoring.h"
#include "server/monitoring/process_status.h"
#include "server/usage/seat_use.h"

void status_collect(const struct monitoring *monitoring, const struct status_sink *sink)
{
    uint32_t spares = 0, applications = 0, sessions = 0;
    if (sink->application != NULL) {
        control_application_status(monitoring->applications, sink);
    }
    if (sink->tenant != NULL) {
        tenant_status(&monitoring->applications->tenants, sink);
    }
    if (sink->client != NULL) {
        clients_status(monitoring->clients, sink);
    }
    if (sink->process != NULL) {
        process_status(monitoring->processes, sink);
    }
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        spares += monitoring->processes->warm_pools[i].count;
    }
    ga_list_each (at, next, &monitoring->applications->all) {
        const struct control_application *application =
            ga_container(at, struct control_application, link);
        applications += !application->observer;
        sessions += application->session;
    }
    if (sink->node != NULL) {
        const struct node_status node = {.application_count = applications,
                                         .session_count = sessions,
                                         .client_count = monitoring->clients->count,
                                         .pending_count = monitoring->clients->pending.table.count,
                                         .pending_sources =
                                             monitoring->clients->pending.table.source_count,
                                         .idle_count = monitoring->clients->idle.table.count,
                                         .process_count = monitoring->processes->count - spares,
                                         .spare_count = spares,
                                         .image_bytes = monitoring->processes->images.held};
        sink->node(sink->user, &node);
    }
}

/* ---- the log */

/* "N of this, N of that": those that are not 0. */
static void figures_text(const uint64_t figures[FIGURE_COUNT], char *text, size_t size)
{
#define FIGURE(name, words) words,
    static const char *const words[] = {FIGURES(FIGURE)};
#undef FIGURE
    size_t at = (size_t)snprintf(text, size, "nothing");
    for (unsigned i = 0, any = 0; i < FIGURE_COUNT; i++) {
        if (figures[i] != 0 && at < size) {
            at = any++ != 0 ? at : 0;
            at += (size_t)snprintf(text + at, size - at, "%s%llu %s", any > 1 ? ", " : "",
                                   (unsigned long long)figures[i], words[i]);
        }
    }
}

static void log_application(void *user, const struct status_application *application)
{
    const uint8_t *id = application->id; /* its beginning tells applications apart */
    char text[FIGURE_COUNT * 56];
    (void)user;
    ga_info_each(application->address,
                 "report: application %02x%02x%02x%02x, %s: %u control connections, %u backend "
                 "processes",
                 id[0], id[1], id[2], id[3], application->label, application->connections,
                 application->processes);
    figures_text(application->figures, text, sizeof text);
    ga_info_each(application->address, "report: application %02x%02x%02x%02x has %s", id[0], id[1],
                 id[2], id[3], text);
}

static void log_gpu(void *user, const struct status_application *application,
                    const struct status_gpu *gpu)
{
    const uint8_t *id = application->id, *uuid = gpu->uuid;
    (void)user;
    ga_info_each(application->address,
                 "report: application %02x%02x%02x%02x on GPU %02x%02x%02x%02x: compute "
                 "%llu ns, to the device %llu ns, to the host %llu ns, in %llu works",
                 id[0], id[1], id[2], id[3], uuid[0], uuid[1], uuid[2], uuid[3],
                 (unsigned long long)gpu->use->busy_ns[GPU_COMPUTE],
                 (unsigned long long)gpu->use->busy_ns[GPU_H2D],
                 (unsigned long long)gpu->use->busy_ns[GPU_D2H],
                 (unsigned long long)gpu->use->works);
}

static void log_tenant(void *user, const struct status_tenant *tenant)
{
    (void)user;
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        ga_info_each(NULL, "report: tenant %s, %u applications: %llu %s lent, %llu charged%s",
                     tenant->name, tenant->application_count,
                     (unsigned long long)tenant->lent[kind], lent_table[kind].text,
                     (unsigned long long)tenant->charged[kind],
                     tenant->balanced ? "" : "; a process has charged more than it was lent");
    }
}

static void log_client(void *user, const struct status_client *client)
{
    (void)user;
    ga_info_each(client->address, "report: %s: connected, %u devices waited for", client->label,
                 client->opens);
}

static void log_process(void *user, const struct status_process *process)
{
    (void)user;
    ga_info_each(
        process->client, "report: backend process %d of %s: %s, %u tickets, %u pending connections",
        (int)process->pid, process->label, process->state, process->tickets, process->pending);
}

static void log_node(void *user, const struct node_status *node)
{
    (void)user;
    ga_info_each(NULL, "report: %u pending connections of %u sources, %u clients that use nothing",
                 node->pending_count, node->pending_sources, node->idle_count);
    ga_info_each(NULL, "report: %llu bytes of images kept", (unsigned long long)node->image_bytes);
    ga_info_each(NULL, "report: %u clients, %u backend processes, %u spare", node->client_count,
                 node->process_count, node->spare_count);
}

void status_log(const struct monitoring *monitoring)
{
    const struct status_sink sink = {.application = log_application,
                                     .gpu = log_gpu,
                                     .client = log_client,
                                     .tenant = log_tenant,
                                     .process = log_process,
                                     .node = log_node};
    status_collect(monitoring, &sink);
}
