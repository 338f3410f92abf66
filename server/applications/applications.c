/* SPDX-License-Identifier: Apache-2.0 */
#include "server/applications/applications.h"

#include "server/applications/revocation.h"
#include "server/applications/tenant_applications.h"
#include "server/applications/terminate.h"

void applications_init(struct applications *applications, struct processes *processes,
                       struct usage *usage, struct access *access,
                       const struct drain_hooks *drain_hooks)
{
    *applications = (struct applications){.timers = processes->timers,
                                          .conf = processes->conf,
                                          .processes = processes,
                                          .usage = usage,
                                          .access = access,
                                          .watcher.changed = revocation_look};
    ga_list_init(&applications->all);
    ga_list_init(&applications->claims_line);
    seats_room_init(&applications->seats, usage);
    tenant_table_init(&applications->tenants, processes->timers, &processes->devices, usage,
                      &tenant_application_hooks);
    drain_init(applications, drain_hooks);
    access->watcher = &applications->watcher;
}

void applications_fini(struct applications *applications)
{
    drain_fini(applications);
    terminate_fini(applications);
    tenant_table_fini(&applications->tenants);
}
