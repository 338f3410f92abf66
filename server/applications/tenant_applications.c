/* SPDX-License-Identifier: Apache-2.0 */
#include "server/applications/tenant_applications.h"

#include <stdlib.h>

#include "api/cuda_names.h"
#include "server/applications/application.h"
#include "server/applications/gpu_time.h"
#include "server/applications/scheduling_terms.h"
#include "server/applications/status_sink.h"
#include "server/applications/time_limits.h"
#include "server/processes/devices.h"
#include "server/seats/seat.h"
#include "server/tenants/member.h"
#include "server/tenants/refusal.h"

/* ---- as long as it is here */

/* Takes claims back, so that nobody waits for ever for the claims of others. */
static bool opens_turn(struct tenant *tenant)
{
    bool waits = false;
    ga_list_each (at, next, &tenant->applications) {
        struct control_application *application =
            ga_container(at, struct control_application, fellow);
        waits = control_application_open_again(application) || waits;
    }
    return waits;
}

static void tenant_programs_begin(struct tenant *tenant)
{
    gpu_time_begin(tenant);
    scheduling_tenant_changed(tenant);
}

static bool tenant_programs_turn(struct tenant *tenant, uint64_t now)
{
    bool waits = opens_turn(tenant);
    waits = gpu_time_turn(tenant, now) || waits;
    return time_limits_turn(tenant, now) || waits;
}

const struct tenant_hooks tenant_application_hooks = {.begin = tenant_programs_begin,
                                                      .changed = scheduling_tenant_changed,
                                                      .turn = tenant_programs_turn};

/* ---- what they may */

static struct seat *tenant_seat_of(struct ga_list *link)
{
    return ga_container(ga_container(link, struct lender_seat, link), struct seat, lender);
}

static bool counts_for(const struct control_application *application, const struct member *member)
{
    return member == NULL || application->member == member;
}

/* Counts the GPUs used by the tenant, or by one of its users (NULL: by all), when this application
 * has opened one more; `claims`: with the claims of others. */
static uint32_t gpus_used(const struct control_application *opener, const struct member *member,
                          uint32_t more, bool claims)
{
    uint64_t used[GPU_SET_WORDS] = {0};
    uint32_t count = 0;
    gpu_set_add(used, more);
    ga_list_each (at, next, &opener->tenant->lender.seats) {
        const struct seat *seat = tenant_seat_of(at);
        bool counts = !seat->left && counts_for(seat->application, member);
        bool claimed = counts && (claims || seat->application == opener);
        for (unsigned i = 0; i < GPU_SET_WORDS && counts; i++) {
            used[i] |= seat->gpus[i] | (claimed ? seat->claimed[i] : 0);
        }
    }
    for (unsigned i = 0; i < GPU_SET_WORDS; i++) {
        count += (uint32_t)__builtin_popcountll(used[i]);
    }
    return count;
}

/* How many others are about to begin a session. */
static uint32_t sessions_claimed(const struct control_application *opener,
                                 const struct member *member)
{
    uint32_t count = 0;
    ga_list_each (at, next, &opener->tenant->lender.seats) {
        const struct seat *seat = tenant_seat_of(at);
        const struct control_application *of = seat->application;
        count += !seat->left && of != opener && !of->session && counts_for(of, member) &&
                 gpu_set_any(seat->claimed);
    }
    return count;
}

static bool sees_any(const struct tenant *tenant)
{
    const struct devices *devices = tenant->table->devices;
    bool sees = false;
    for (uint32_t i = 0; i < devices->visible_count && !sees; i++) {
        sees = limits_types_allow(tenant->terms.gpu_types, devices_visible(devices, i)->facts.name);
    }
    return sees;
}

/* Checks the sessions of the tenant (`member` NULL), or of one of its users; `more` are about to
 * begin. */
static bool sessions_left(const struct tenant *tenant, const struct member *member, uint32_t more,
                          struct refusal *refusal)
{
    char whose[2 * TENANT_NAME_MAX + 20];
    uint64_t most = member_limits(tenant, member)->of[LIMIT_SESSIONS];
    uint32_t used = member != NULL ? member->session_count : tenant->session_count;
    if (used + more < most) {
        return true;
    }
    member_write(tenant, member, whose, sizeof whose);
    return refusal_limit(refusal, LIMIT_SESSIONS,
                         "limit sessions of %s: %llu allowed, %u used; end another program first, "
                         "or ask for a higher limit",
                         whose, (unsigned long long)most, used);
}

bool tenant_admits(const struct tenant *tenant, const struct control_application *application,
                   struct refusal *refusal)
{
    const struct member *member = application->member;
    if (!sees_any(tenant)) {
        return refusal_set(refusal, REFUSAL_GPU_TYPES, CUDA_ERROR_NOT_PERMITTED,
                           "gpu-types of tenant %s: this node has none of %s", tenant->terms.name,
                           tenant->terms.gpu_types);
    }
    return application->observer ||
           (sessions_left(tenant, NULL, 0, refusal) &&
            (member == NULL || sessions_left(tenant, member, 0, refusal)) &&
            gpu_time_admits(tenant, member, refusal));
}

/* Checks the GPUs of the tenant (`member` NULL), or of one of its users. */
static bool gpus_left(const struct control_application *opener, const struct member *member,
                      uint32_t gpu, bool claims, struct refusal *refusal)
{
    const struct tenant *tenant = opener->tenant;
    char whose[2 * TENANT_NAME_MAX + 20];
    uint64_t most = member_limits(tenant, member)->of[LIMIT_GPUS];
    uint32_t used = most != LIMIT_NONE ? gpus_used(opener, member, gpu, claims) : 0;
    if (used <= most) {
        return true;
    }
    member_write(tenant, member, whose, sizeof whose);
    return refusal_limit(refusal, LIMIT_GPUS,
                         "limit gpus of %s: %llu allowed, %u used; end another program first, or "
                         "ask for a higher limit",
                         whose, (unsigned long long)most, used - 1);
}

/* Checks both of the tenant (`member` NULL), or of one of its users. */
static bool amounts_left(const struct control_application *opener, const struct member *member,
                         uint32_t gpu, bool claims, struct refusal *refusal)
{
    uint32_t more = claims ? sessions_claimed(opener, member) : 0;
    return (opener->session || sessions_left(opener->tenant, member, more, refusal)) &&
           gpus_left(opener, member, gpu, claims, refusal);
}

bool tenant_may_open(const struct control_application *application, uint32_t gpu, bool claims,
                     struct refusal *refusal)
{
    const struct tenant *tenant = application->tenant;
    const char *name = devices_visible(tenant->table->devices, gpu)->facts.name;
    if (!limits_types_allow(tenant->terms.gpu_types, name)) {
        return refusal_set(refusal, REFUSAL_GPU_TYPES, CUDA_ERROR_NOT_PERMITTED,
                           "gpu-types of tenant %s: %s is not among %s", tenant->terms.name, name,
                           tenant->terms.gpu_types);
    }
    return amounts_left(application, NULL, gpu, claims, refusal) &&
           (application->member == NULL ||
            amounts_left(application, application->member, gpu, claims, refusal));
}

void tenant_join(struct tenant *tenant, struct control_application *application)
{
    const struct devices *devices = tenant->table->devices;
    uint32_t *gpus = calloc(devices->visible_count, sizeof *gpus); /* NULL: it sees none */
    for (uint32_t i = 0; gpus != NULL && i < devices->visible_count; i++) {
        if (limits_types_allow(tenant->terms.gpu_types, devices_visible(devices, i)->facts.name)) {
            gpus[application->gpu_count++] = i;
        }
    }
    tenant_keep(tenant);
    application->tenant = tenant;
    application->gpus = gpus;
    application->shown = *member_limits(tenant, application->member);
    application->alone_number = ++tenant->table->last_number;
    tenant->application_count += !application->observer;
    ga_list_append(&tenant->applications, &application->fellow);
    tenant_wait(tenant);
}

void tenant_session_begin(struct control_application *application)
{
    application->tenant->session_count++;
    if (application->member != NULL) {
        application->member->session_count++;
    }
}

void tenant_leave(struct control_application *application)
{
    application->tenant->application_count -= !application->observer;
    application->tenant->session_count -= application->session;
    if (application->member != NULL) {
        application->member->session_count -= application->session;
    }
    ga_list_remove(&application->fellow);
}

/* ---- status */

void tenant_status(const struct tenant_table *table, const struct status_sink *sink)
{
    ga_list_each (at, next, &table->all) {
        const struct tenant *tenant = ga_container(at, struct tenant, link);
        struct status_tenant status = {.name = tenant->terms.name,
                                       .application_count = tenant->application_count,
                                       .session_count = tenant->session_count,
                                       .limits = &tenant->terms.limits,
                                       .refusals = tenant->lender.refusals,
                                       .balanced = lender_balances(tenant)};
        for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
            status.lent[kind] = tenant->lender.account.lent[kind];
            status.charged[kind] =
                lender_charged(tenant, NULL, (enum channel_lent)kind, UINT32_MAX);
        }
        sink->tenant(sink->user, &status);
    }
}
