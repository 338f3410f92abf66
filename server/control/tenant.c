/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/control/application.h"
#include "server/control/control.h"

void tenant_table_init(struct tenant_table *table)
{
    *table = (struct tenant_table){.last_number = 0};
    ga_list_init(&table->all);
}

struct tenant_terms tenant_default(void)
{
    struct tenant_terms terms = {
        .name = TENANT_DEFAULT, .isolation = ISOLATION_APP, .exhausted = EXHAUSTED_DENY};
    limits_clear(&terms.limits);
    return terms;
}

struct tenant *tenant_known(const struct control *control, const char *name)
{
    ga_list_each (at, next, &control->tenants.all) {
        struct tenant *tenant = ga_container(at, struct tenant, link);
        if (strcmp(tenant->terms.name, name) == 0) {
            return tenant;
        }
    }
    return NULL;
}

static void terms_take(struct tenant *tenant, const struct tenant_terms *terms)
{
    if (terms->generation > tenant->terms.generation) {
        tenant->terms = *terms;
    }
}

struct tenant *tenant_find(struct control *control, const struct tenant_terms *terms)
{
    struct tenant *tenant = tenant_known(control, terms->name);
    if (tenant != NULL) {
        terms_take(tenant, terms);
        tenant_keep(tenant);
        return tenant;
    }
    tenant = calloc(1, sizeof *tenant);
    if (tenant == NULL) {
        return NULL;
    }
    *tenant = (struct tenant){
        .control = control, .number = ++control->tenants.last_number, .terms = *terms, .users = 1};
    ga_list_init(&tenant->applications);
    ga_list_append(&control->tenants.all, &tenant->link);
    return tenant;
}

void tenant_renew(struct control *control, const struct tenant_terms *terms)
{
    struct tenant *tenant = tenant_known(control, terms->name);
    if (tenant != NULL) {
        terms_take(tenant, terms);
    }
}

void tenant_keep(struct tenant *tenant)
{
    tenant->users++;
}

void tenant_drop(struct tenant *tenant)
{
    if (--tenant->users == 0) {
        ga_list_remove(&tenant->link);
        free(tenant);
    }
}

/* ---- its applications */

bool tenant_admits(const struct tenant *tenant, char *why, size_t why_size)
{
    uint64_t most = tenant->terms.limits.of[LIMIT_SESSIONS];
    if (most == LIMIT_NONE || tenant->application_count < most) {
        return true;
    }
    snprintf(why, why_size,
             "limit sessions of tenant %s: %llu allowed, %u used; end another program first, or "
             "ask for a higher limit",
             tenant->terms.name, (unsigned long long)most, tenant->application_count);
    return false;
}

void tenant_join(struct tenant *tenant, struct control_application *application)
{
    tenant_keep(tenant);
    application->tenant = tenant;
    tenant->application_count++;
    ga_list_append(&tenant->applications, &application->fellow);
}

void tenant_leave(struct control_application *application)
{
    application->tenant->application_count--;
    ga_list_remove(&application->fellow);
}
