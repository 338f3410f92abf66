#include "server/control/status.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/control/client.h"
#include "server/control/control.h"

enum ga_status status_collect(const struct control *control, struct node_status *out)
{
    *out = (struct node_status){.client_count = control->client_count,
                                .process_count = control->processes.count};
    out->clients = calloc(out->client_count + 1, sizeof *out->clients);
    out->processes = calloc(out->process_count + 1, sizeof *out->processes);
    if (out->clients == NULL || out->processes == NULL) {
        status_free(out);
        return GA_NO_MEMORY;
    }
    out->client_count = control_client_status(control, out->clients, out->client_count);
    out->process_count =
        backend_process_status(&control->processes, out->processes, out->process_count);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        out->spare_count += control->spares[i].count;
    }
    return GA_OK;
}

void status_free(struct node_status *status)
{
    free(status->clients);
    free(status->processes);
    *status = (struct node_status){0};
}

void status_log(const struct node_status *status)
{
    for (uint32_t i = 0; i < status->client_count; i++) {
        const struct status_client *client = &status->clients[i];
        ga_info_each(client->address, "report: %s: %s, %u devices waited for", client->label,
                     client->greeted ? "connected" : "not greeted", client->opens);
    }
    for (uint32_t i = 0; i < status->process_count; i++) {
        const struct status_process *process = &status->processes[i];
        ga_info_each(process->client, "report: backend process %d of %s: %s, %u tickets",
                     (int)process->pid, process->label, process->state, process->tickets);
    }
    ga_info_each(NULL, "report: %u clients, %u backend processes, %u spare", status->client_count,
                 status->process_count - status->spare_count, status->spare_count);
}
