/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/control/application.h"
#include "server/control/client_open.h"
#include "server/control/client_state.h"
#include "server/control/control.h"
#include "server/control/gpu_time.h"
#include "server/control/scheduling.h"
#include "server/control/seat.h"

#define TURN_MS 100 /* so often those who wait are looked after */

static void tenants_turn(uv_timer_t *timer)
{
    struct tenant_table *table = timer->data;
    bool waits = false;
    uint64_t now = ga_clock_ns();
    ga_list_each (at, next, &table->all) {
        struct tenant *tenant = ga_container(at, struct tenant, link);
        waits = lender_turn(tenant, now) || waits;
        waits = lender_divide(tenant, now) || waits;
        waits = gpu_time_turn(tenant, now) || waits;
    }
    if (!waits) {
        (void)uv_timer_stop(timer);
    }
}

void tenant_table_init(struct tenant_table *table, uv_loop_t *loop)
{
    *table = (struct tenant_table){.last_number = 0};
    ga_list_init(&table->all);
    (void)uv_timer_init(loop, &table->timer);
    table->timer.data = table;
}

void tenant_table_fini(struct tenant_table *table)
{
    uv_close((uv_handle_t *)&table->timer, NULL);
}

void tenant_wait(struct tenant *tenant)
{
    uv_timer_t *timer = &tenant->control->tenants.timer;
    if (!uv_is_active((uv_handle_t *)timer)) {
        (void)uv_timer_start(timer, tenants_turn, TURN_MS, TURN_MS);
    }
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
        lender_limits(tenant);
        scheduling_tenant_changed(tenant);
        tenant_wait(tenant); /* if there is anything to look after */
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
    if (lender_init(&tenant->lender, control->devices.visible_count) != GA_OK) {
        free(tenant);
        return NULL;
    }
    lending_limit(&tenant->lender.account, &terms->limits);
    ga_list_init(&tenant->applications);
    ga_list_append(&control->tenants.all, &tenant->link);
    scheduling_tenant_changed(tenant);
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
        lender_fini(&tenant->lender);
        free(tenant);
    }
}

/* ---- its applications */

static void gpus_add(uint64_t used[(CONF_GPUS_MAX + 63) / 64], uint32_t gpu)
{
    used[gpu / 64] |= UINT64_C(1) << gpu % 64;
}

/* Also those that it waits for. */
static uint32_t gpus_used(const struct tenant *tenant, uint32_t more)
{
    uint64_t used[(CONF_GPUS_MAX + 63) / 64] = {0};
    uint32_t count = 0;
    gpus_add(used, more);
    ga_list_each (at, next, &tenant->lender.seats) {
        const struct seat *seat =
            ga_container(ga_container(at, struct lender_seat, link), struct seat, lender);
        for (unsigned i = 0; i < sizeof used / sizeof *used && !seat->left; i++) {
            used[i] |= seat->gpus[i];
        }
    }
    ga_list_each (at, next, &tenant->applications) {
        const struct control_application *application =
            ga_container(at, struct control_application, fellow);
        ga_list_each (client, after, &application->clients) {
            control_client_wanted(ga_container(client, struct control_client, beside), used);
        }
    }
    for (unsigned i = 0; i < sizeof used / sizeof *used; i++) {
        count += (uint32_t)__builtin_popcountll(used[i]);
    }
    return count;
}

static bool sees_any(const struct tenant *tenant)
{
    const struct devices *devices = &tenant->control->devices;
    bool sees = false;
    for (uint32_t i = 0; i < devices->visible_count && !sees; i++) {
        sees = limits_types_allow(tenant->terms.gpu_types, devices_visible(devices, i)->facts.name);
    }
    return sees;
}

bool tenant_admits(const struct tenant *tenant, char *why, size_t why_size)
{
    uint64_t most = tenant->terms.limits.of[LIMIT_SESSIONS];
    if (!sees_any(tenant)) {
        snprintf(why, why_size, "gpu-types of tenant %s: this node has none of %s",
                 tenant->terms.name, tenant->terms.gpu_types);
        return false;
    }
    if (most == LIMIT_NONE || tenant->application_count < most) {
        return gpu_time_admits(tenant->control, &tenant->terms, why, why_size);
    }
    snprintf(why, why_size,
             "limit sessions of tenant %s: %llu allowed, %u used; end another program first, or "
             "ask for a higher limit",
             tenant->terms.name, (unsigned long long)most, tenant->application_count);
    return false;
}

bool tenant_may_open(const struct control_application *application, uint32_t gpu, char *why,
                     size_t why_size)
{
    const struct tenant *tenant = application->tenant;
    const char *name = devices_visible(&tenant->control->devices, gpu)->facts.name;
    uint64_t most = tenant->terms.limits.of[LIMIT_GPUS];
    if (!limits_types_allow(tenant->terms.gpu_types, name)) {
        snprintf(why, why_size, "gpu-types of tenant %s: %s is not among %s", tenant->terms.name,
                 name, tenant->terms.gpu_types);
        return false;
    }
    uint32_t used = most != LIMIT_NONE ? gpus_used(tenant, gpu) : 0;
    if (used > most) {
        snprintf(why, why_size,
                 "limit gpus of tenant %s: %llu allowed, %u used; end another program first, or "
                 "ask for a higher limit",
                 tenant->terms.name, (unsigned long long)most, used - 1);
    }
    return used <= most || most == LIMIT_NONE;
}

void tenant_join(struct tenant *tenant, struct control_application *application)
{
    const struct devices *devices = &tenant->control->devices;
    uint32_t *gpus = calloc(devices->visible_count, sizeof *gpus); /* NULL: it sees none */
    for (uint32_t i = 0; gpus != NULL && i < devices->visible_count; i++) {
        if (limits_types_allow(tenant->terms.gpu_types, devices_visible(devices, i)->facts.name)) {
            gpus[application->gpu_count++] = i;
        }
    }
    tenant_keep(tenant);
    application->tenant = tenant;
    application->gpus = gpus;
    application->shown = tenant->terms.limits;
    application->alone_number = ++tenant->control->tenants.last_number;
    tenant->application_count++;
    ga_list_append(&tenant->applications, &application->fellow);
    tenant_wait(tenant);
}

void tenant_leave(struct control_application *application)
{
    application->tenant->application_count--;
    ga_list_remove(&application->fellow);
}

/* ---- status */

void tenant_status(const struct control *control, const struct status_sink *sink)
{
    ga_list_each (at, next, &control->tenants.all) {
        const struct tenant *tenant = ga_container(at, struct tenant, link);
        struct status_tenant status = {.name = tenant->terms.name,
                                       .application_count = tenant->application_count,
                                       .limits = &tenant->terms.limits,
                                       .refusals = tenant->lender.refusals,
                                       .balanced = lender_balances(tenant)};
        for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
            status.lent[kind] = tenant->lender.account.lent[kind];
            status.charged[kind] = lender_charged(tenant, (enum channel_lent)kind, UINT32_MAX);
        }
        sink->tenant(sink->user, &status);
    }
}
