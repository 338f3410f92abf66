/* SPDX-License-Identifier: Apache-2.0 */
#include "server/applications/scheduling_terms.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/turns/scheduler.h"
#include "server/turns/scheduling.h"

#define WEIGHT_DEFAULT 100u
#define ALONE          (UINT64_C(1) << 63) /* the store numbers nobody so */

static bool tenant_is_capped(const struct tenant *tenant)
{
    const uint64_t *limits = tenant->terms.limits.of;
    return limits[LIMIT_COMPUTE_CAP] != LIMIT_NONE || limits[LIMIT_THROTTLE] != LIMIT_NONE;
}

static uint32_t limit_or(const struct limits *limits, enum limit limit, uint32_t standard)
{
    return limits->of[limit] != LIMIT_NONE ? (uint32_t)limits->of[limit] : standard;
}

static struct scheduler_terms terms_of(const struct tenant *tenant)
{
    const struct limits *limits = &tenant->terms.limits;
    return (struct scheduler_terms){
        .weight = limit_or(limits, LIMIT_SHARE, WEIGHT_DEFAULT),
        .priority = limit_or(limits, LIMIT_PRIORITY, 0),
        .cap_percent = limit_or(limits, LIMIT_COMPUTE_CAP, 0),
        .throttle_percent = tenant->throttled ? limit_or(limits, LIMIT_THROTTLE, 0) : 0,
        .goal_ns = limit_or(limits, LIMIT_LATENCY_GOAL, 0) * GA_NS_PER_MS};
}

uint64_t scheduling_tenant_of(const struct control_application *application)
{
    bool known = application->room->conf->server.auth;
    return known ? application->tenant->terms.number : ALONE | application->alone_number;
}

struct scheduler_terms scheduling_terms_of(const struct control_application *application)
{
    bool known = application->room->conf->server.auth;
    return known ? terms_of(application->tenant)
                 : (struct scheduler_terms){.weight = WEIGHT_DEFAULT};
}

void scheduling_tenant_changed(struct tenant *tenant)
{
    struct applications *room = ga_container(tenant->table, struct applications, tenants);
    const struct scheduler_terms terms = terms_of(tenant);
    if (!room->processes->serving || !room->conf->server.auth) {
        return;
    }
    if (tenant_is_capped(tenant) && scheduling_begin_late(room->processes) != GA_OK) {
        ga_error("tenant %s: no memory or descriptors for scheduling: its caps do not hold",
                 tenant->terms.name);
    }
    if (room->processes->scheduler != NULL) {
        scheduler_terms_change(room->processes->scheduler, tenant->terms.number, &terms);
    }
}
