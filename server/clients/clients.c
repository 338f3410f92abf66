/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clients/clients.h"

#include "server/applications/applications.h"
#include "server/applications/status_sink.h"
#include "server/clients/client_limits.h"
#include "server/clients/client_state.h"
#include "server/clients/client_steps.h"

enum ga_status clients_init(struct clients *clients, struct applications *applications,
                            uint32_t pending_most, const struct clients_admins *admins)
{
    *clients = (struct clients){.loop = applications->processes->loop,
                                .timers = applications->timers,
                                .conf = applications->conf,
                                .processes = applications->processes,
                                .applications = applications,
                                .access = applications->access,
                                .admins = admins};
    ga_list_init(&clients->all);
    GA_TRY(client_limits_init(clients, pending_most));
    enum ga_status status = client_steps_init(clients);
    if (status != GA_OK) {
        client_limits_fini(clients);
    }
    return status;
}

void clients_fini(struct clients *clients)
{
    client_steps_fini(clients);
    client_limits_fini(clients);
}

void clients_close(struct clients *clients)
{
    ga_list_each (at, next, &clients->all) {
        control_client_close(ga_container(at, struct control_client, link));
    }
}

void clients_status(const struct clients *clients, const struct status_sink *sink)
{
    ga_list_each (at, next, &clients->all) {
        const struct control_client *client = ga_container(at, struct control_client, link);
        const struct status_client status = {.address = client->address,
                                             .label = control_client_label(client),
                                             .opens = client->open_count};
        if (client->counted) {
            sink->client(sink->user, &status);
        }
    }
}
