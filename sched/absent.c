/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/absent.h"

#include <stdlib.h>

#include "sched/history.h"

#define ABSENT_ROOM_MIN 16u
/* Less than that decides nothing: an operation is longer. */
#define ABSENT_NS_MIN 1000.0

struct sched_absent {
    struct sched_tenant tenant;
    uint64_t since;
};

/* The service that the tenant has attained by now. */
static double absent_attained(const struct sched *sched, const struct sched_absent *absent,
                              uint64_t now)
{
    double gs = absent->tenant.gs, cgs = absent->tenant.cgs;
    uint64_t passed_ns = now - absent->since;
    sched_history_fade(sched, &gs, &cgs, passed_ns);
    return gs + cgs + sched_history_faded(sched, absent->tenant.recent_ns, passed_ns);
}

double sched_absent_owes(const struct sched *sched, const struct sched_tenant *tenant, uint64_t now)
{
    uint64_t window_ns = sched->settings.cap_window_ns;
    return tenant->debt + tenant->debt_left + sched_bucket_lacks(&tenant->cap, window_ns, now) +
           sched_bucket_lacks(&tenant->throttle, window_ns, now);
}

static double absent_matters(const struct sched *sched, const struct sched_absent *absent,
                             uint64_t now)
{
    return sched_absent_owes(sched, &absent->tenant, now) + absent_attained(sched, absent, now);
}

static void absent_remove(struct sched *sched, uint32_t at)
{
    sched->absent[at] = sched->absent[--sched->absent_count];
}

/* Those that do not matter any more go. */
static void absent_clean(struct sched *sched, uint64_t now)
{
    for (uint32_t i = sched->absent_count; i-- > 0;) {
        if (absent_matters(sched, &sched->absent[i], now) < ABSENT_NS_MIN) {
            absent_remove(sched, i);
        }
    }
}

/* Room for one more. False: there is none. */
static bool absent_reserve(struct sched *sched, uint64_t now)
{
    if (sched->absent_count == sched->absent_room) {
        absent_clean(sched, now);
    }
    if (sched->absent_count < sched->absent_room) {
        return true;
    }
    uint32_t room = sched->absent_room == 0 ? ABSENT_ROOM_MIN : 2 * sched->absent_room;
    struct sched_absent *absent =
        room <= SCHED_ABSENT_MAX ? reallocarray(sched->absent, room, sizeof *absent) : NULL;
    if (absent == NULL) {
        return false;
    }
    sched->absent = absent;
    sched->absent_room = room;
    return true;
}

/* Forgets the one that matters least, unless `most` does less. */
static bool absent_forget(struct sched *sched, double most, uint64_t now)
{
    uint32_t least = SCHED_NONE;
    for (uint32_t i = 0; i < sched->absent_count; i++) {
        double matters = absent_matters(sched, &sched->absent[i], now);
        if (matters < most) {
            least = i;
            most = matters;
        }
    }
    if (least != SCHED_NONE) {
        absent_remove(sched, least);
    }
    return least != SCHED_NONE;
}

void sched_absent_keep(struct sched *sched, const struct sched_tenant *tenant, uint64_t now)
{
    const struct sched_absent absent = {.tenant = *tenant, .since = now};
    double matters = absent_matters(sched, &absent, now);
    if (matters >= ABSENT_NS_MIN &&
        (absent_reserve(sched, now) || absent_forget(sched, matters, now))) {
        sched->absent[sched->absent_count++] = absent;
    }
}

struct sched_tenant sched_absent_take(struct sched *sched, uint64_t number, uint64_t now)
{
    for (uint32_t i = 0; i < sched->absent_count; i++) {
        struct sched_absent *absent = &sched->absent[i];
        if (absent->tenant.number == number) {
            struct sched_tenant tenant = absent->tenant;
            sched_history_fade(sched, &tenant.gs, &tenant.cgs, now - absent->since);
            tenant.recent_ns = sched_history_faded(sched, tenant.recent_ns, now - absent->since);
            absent_remove(sched, i);
            return tenant;
        }
    }
    return (struct sched_tenant){.number = number, .idle_since = SCHED_NEVER};
}
