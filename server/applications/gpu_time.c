/* SPDX-License-Identifier: Apache-2.0 */
#include "server/applications/gpu_time.h"

#include "base/clock.h"
#include "base/log.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/claims_line.h"
#include "server/applications/scheduling_terms.h"
#include "server/applications/terminate.h"
#include "server/tenants/member.h"
#include "server/tenants/refusal.h"
#include "server/usage/accounting.h"

#define LOOK_NS GA_NS_PER_S

static const struct {
    enum limit limit;
    enum store_period period;
} periods[] = {{LIMIT_GPU_TIME_DAY, STORE_DAY}, {LIMIT_GPU_TIME_MONTH, STORE_MONTH}};

/* A store that fails has other consequences; here it limits nothing. */
static uint64_t used_ms(const struct tenant *tenant, const struct member *member,
                        enum store_period period)
{
    return accounting_gpu_ns(tenant->table->usage, tenant->terms.number,
                             member != NULL ? member->name : NULL, period) /
           GA_NS_PER_MS;
}

/* The limit of the tenant (`member` NULL), or of one of its users, if that one has its own limit:
 * the tenant's terms decide what happens at the tenant's limit. */
static uint64_t gpu_time_most(const struct tenant *tenant, const struct member *member,
                              enum limit limit)
{
    bool counts = member == NULL || member_has_own(tenant, member, limit);
    return counts ? member_limits(tenant, member)->of[limit] : LIMIT_NONE;
}

static bool gpu_time_left(const struct tenant *tenant, const struct member *member,
                          struct refusal *refusal)
{
    for (unsigned i = 0; i < sizeof periods / sizeof *periods; i++) {
        enum limit limit = periods[i].limit;
        uint64_t most = gpu_time_most(tenant, member, limit);
        uint64_t used = most != LIMIT_NONE ? used_ms(tenant, member, periods[i].period) : 0;
        if (most != LIMIT_NONE && used >= most) {
            char allowed_text[LIMITS_TEXT_MAX], used_text[LIMITS_TEXT_MAX];
            char whose[2 * TENANT_NAME_MAX + 20];
            limits_value_write(limit, most, allowed_text);
            limits_value_write(limit, used, used_text);
            member_write(tenant, member, whose, sizeof whose);
            return refusal_limit(refusal, limit,
                                 "limit %s of %s: %s allowed, %s used; wait for the next %s (UTC), "
                                 "or ask for a higher limit",
                                 limits_table[limit].key, whose, allowed_text, used_text,
                                 periods[i].period == STORE_DAY ? "day" : "month");
        }
    }
    return true;
}

bool gpu_time_admits(const struct tenant *tenant, const struct member *member,
                     struct refusal *refusal)
{
    bool throttled = tenant->terms.limits.of[LIMIT_THROTTLE] != LIMIT_NONE;
    return (throttled || gpu_time_left(tenant, NULL, refusal)) &&
           (member == NULL || gpu_time_left(tenant, member, refusal));
}

static bool time_is_limited(const struct tenant *tenant, const struct member *member)
{
    return gpu_time_most(tenant, member, LIMIT_GPU_TIME_DAY) != LIMIT_NONE ||
           gpu_time_most(tenant, member, LIMIT_GPU_TIME_MONTH) != LIMIT_NONE;
}

static void throttled_log(const struct tenant *tenant, const char *why)
{
    ga_info("%s; its programs go on with %llu %% of each GPU", why,
            (unsigned long long)tenant->terms.limits.of[LIMIT_THROTTLE]);
}

void gpu_time_begin(struct tenant *tenant)
{
    struct refusal spent;
    if (tenant->terms.limits.of[LIMIT_THROTTLE] != LIMIT_NONE && time_is_limited(tenant, NULL) &&
        !gpu_time_left(tenant, NULL, &spent)) {
        tenant->throttled = true;
        throttled_log(tenant, spent.why);
    }
}

/* The use-up of the time is logged once, and ends with the day or month. */
static void throttle_set(struct tenant *tenant, bool throttled, const char *why)
{
    if (throttled == tenant->throttled) {
        return;
    }
    tenant->throttled = throttled;
    if (throttled) {
        throttled_log(tenant, why);
    } else {
        ga_info("tenant %s: its programs are not throttled any more", tenant->terms.name);
    }
    scheduling_tenant_changed(tenant);
}

/* Ends the programs of the tenant (`member` NULL), or of one of its users, if no time is left. */
static void time_is_up(const struct tenant *tenant, const struct member *member)
{
    struct refusal spent;
    if (!time_is_limited(tenant, member) || gpu_time_left(tenant, member, &spent)) {
        return;
    }
    ga_list_each (at, next, &tenant->applications) {
        struct control_application *application =
            ga_container(at, struct control_application, fellow);
        if (member == NULL || application->member == member) {
            terminate_application(application, APPLICATION_SPENT, spent.result, spent.why);
        }
    }
}

/* Whether a program of the tenant has a ticket, and no session yet. */
static bool any_begins(const struct tenant *tenant)
{
    bool any = false;
    ga_list_each (at, next, &tenant->applications) {
        const struct control_application *application =
            ga_container(at, struct control_application, fellow);
        any = any || (!application->session && claims_any(application));
    }
    return any;
}

/* Those may begin no more, if no time is left. */
static void beginners_look(const struct tenant *tenant)
{
    struct refusal unused;
    ga_list_each (at, next, &tenant->applications) {
        const struct control_application *application =
            ga_container(at, struct control_application, fellow);
        if (!application->session && claims_any(application) &&
            !gpu_time_admits(tenant, application->member, &unused)) {
            claims_take_back(application);
        }
    }
}

bool gpu_time_turn(struct tenant *tenant, uint64_t now)
{
    bool limited = time_is_limited(tenant, NULL);
    bool throttles = limited && tenant->terms.limits.of[LIMIT_THROTTLE] != LIMIT_NONE;
    if (!throttles) {
        throttle_set(tenant, false, "");
    }
    ga_list_each (at, next, &tenant->members) {
        limited = limited || time_is_limited(tenant, ga_container(at, struct member, link));
    }
    bool suspends = tenant->terms.exhausted == EXHAUSTED_SUSPEND;
    if (!limited || tenant->application_count == 0 ||
        (!throttles && !suspends && !any_begins(tenant))) {
        return false;
    }
    if (now - tenant->gpu_time_ns < LOOK_NS) {
        return true;
    }
    tenant->gpu_time_ns = now;
    if (throttles) {
        struct refusal spent = {.why = ""};
        bool left = gpu_time_left(tenant, NULL, &spent);
        throttle_set(tenant, !left, spent.why);
    } else if (suspends) {
        time_is_up(tenant, NULL);
    }
    ga_list_each (at, next, &tenant->members) {
        const struct member *member = ga_container(at, struct member, link);
        if (suspends) {
            time_is_up(tenant, member);
        }
    }
    beginners_look(tenant);
    return true;
}
