/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenants/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/processes/devices.h"

#define TURN_MS 100 /* so often waiting seats are looked after */

static void tenants_turn(struct server_timer *timer)
{
    struct tenant_table *table = ga_container(timer, struct tenant_table, timer);
    bool waits = false;
    uint64_t now = timers_now(table->timers), awake = timers_awake(table->timers);
    ga_list_each (at, next, &table->all) {
        struct tenant *tenant = ga_container(at, struct tenant, link);
        tenant_keep(tenant); /* its last application may end */
        waits = lender_turn(tenant, awake) || waits;
        waits = lender_divide(tenant, awake) || waits;
        waits = (table->hooks != NULL && table->hooks->turn(tenant, now)) || waits;
        tenant_drop(tenant);
    }
    if (!waits) {
        timers_stop(table->timers, timer);
    }
}

void tenant_table_init(struct tenant_table *table, struct server_timers *timers,
                       const struct devices *devices, struct usage *usage,
                       const struct tenant_hooks *hooks)
{
    *table =
        (struct tenant_table){.hooks = hooks, .devices = devices, .usage = usage, .timers = timers};
    ga_list_init(&table->all);
}

void tenant_table_fini(struct tenant_table *table)
{
    timers_stop(table->timers, &table->timer);
}

void tenant_wait(struct tenant *tenant)
{
    struct tenant_table *table = tenant->table;
    if (!table->timer.runs) {
        timers_start(table->timers, &table->timer, tenants_turn, TURN_MS, TURN_MS);
    }
}

struct tenant_terms tenant_default(void)
{
    struct tenant_terms terms = {
        .name = TENANT_DEFAULT, .isolation = ISOLATION_APP, .exhausted = EXHAUSTED_DENY};
    limits_clear(&terms.limits);
    return terms;
}

struct tenant *tenant_known(const struct tenant_table *table, uint64_t number, const char *name)
{
    ga_list_each (at, next, &table->all) {
        struct tenant *tenant = ga_container(at, struct tenant, link);
        uint64_t has = tenant->terms.number;
        if (has != 0 && number != 0 ? has == number : strcmp(tenant->terms.name, name) == 0) {
            return tenant;
        }
    }
    return NULL;
}

static void terms_take(struct tenant *tenant, const struct tenant_terms *terms)
{
    if (terms->generation > tenant->terms.generation) {
        tenant->terms = *terms;
        lender_limits(tenant);
        if (tenant->table->hooks != NULL) {
            tenant->table->hooks->changed(tenant);
        }
        tenant_wait(tenant); /* if there is anything to look after */
    }
}

struct tenant *tenant_find(struct tenant_table *table, const struct tenant_terms *terms)
{
    struct tenant *tenant = tenant_known(table, terms->number, terms->name);
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
        .table = table, .number = ++table->last_number, .terms = *terms, .users = 1};
    if (lender_init(&tenant->lender, table->devices->visible_count) != GA_OK) {
        free(tenant);
        return NULL;
    }
    lending_limit(&tenant->lender.account, &terms->limits);
    ga_list_init(&tenant->applications);
    ga_list_init(&tenant->members);
    ga_list_append(&table->all, &tenant->link);
    if (table->hooks != NULL) {
        table->hooks->begin(tenant);
    }
    return tenant;
}

void tenant_renew(struct tenant_table *table, const struct tenant_terms *terms)
{
    struct tenant *tenant = tenant_known(table, terms->number, terms->name);
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
        lender_fini(&tenant->lender);
        free(tenant);
    }
}
