/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/applications.h"

#include "server/control/dismiss.h"
#include "server/control/revocation.h"
#include "server/control/tenant_applications.h"

void applications_init(struct applications *applications, struct processes *processes,
                       struct usage *usage, struct access *access,
                       const struct drain_hooks *drain_hooks)
{
    *applications = (struct applications){.loop = processes->loop,
                                          .conf = processes->conf,
                                          .processes = processes,
                                          .usage = usage,
                                          .access = access,
                                          .watcher.changed = revocation_look};
    ga_list_init(&applications->all);
    ga_list_init(&applications->claims_line);
    seats_init(&applications->seats, usage);
    tenant_table_init(&applications->tenants, processes->loop, &processes->devices, usage,
                      &tenant_application_hooks);
    drain_init(applications, drain_hooks);
    dismiss_init(applications);
    access->watcher = &applications->watcher;
}

void applications_fini(struct applications *applications)
{
    drain_fini(applications);
    dismiss_fini(applications);
    tenant_table_fini(&applications->tenants);
}
