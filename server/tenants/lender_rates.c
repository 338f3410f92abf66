/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tenants/lender_rates.h"

#include "server/tenants/member.h"

static const enum limit rates[] = {LIMIT_CALL_RATE, LIMIT_BANDWIDTH_IN, LIMIT_BANDWIDTH_OUT};
#define RATES (sizeof rates / sizeof *rates)

static uint64_t rate_part(uint64_t rate, uint32_t movers)
{
    return rate == LIMIT_NONE || rate < movers ? rate : rate / movers;
}

struct limits lender_rates_limits(const struct lender_seat *seat)
{
    const struct tenant *tenant = seat->tenant;
    const struct member *member = seat->member;
    struct limits limits = *member_limits(tenant, member);
    for (unsigned i = 0; i < RATES; i++) {
        uint64_t part = rate_part(tenant->terms.limits.of[rates[i]], tenant->lender.movers);
        uint64_t own =
            member != NULL ? rate_part(member->limits.of[rates[i]], member->movers) : part;
        limits.of[rates[i]] = own < part ? own : part;
    }
    return limits;
}

static bool has_rates(const struct limits *limits)
{
    bool has = false;
    for (unsigned i = 0; i < RATES; i++) {
        has = has || limits->of[rates[i]] != LIMIT_NONE;
    }
    return has;
}

bool lender_rates_any(const struct tenant *tenant)
{
    bool limited = has_rates(&tenant->terms.limits);
    ga_list_each (at, next, &tenant->members) {
        limited = limited || has_rates(&ga_container(at, struct member, link)->limits);
    }
    return limited;
}

/* A seat that waits until it may counts, too: a large copy by shared memory is counted at once, and
 * a wait, perhaps a long one, pays for it. Meanwhile the others must not have its part. */
static bool has_moved(struct lender_seat *seat)
{
    uint64_t moved = atomic_load_explicit(&seat->figures->rate_waits, memory_order_relaxed) +
                     figures_in(seat->figures) + figures_out(seat->figures);
    bool has = moved != seat->moved;
    seat->moved = moved;
    return has;
}

bool lender_rates_count(struct tenant *tenant)
{
    uint32_t all = 0;
    bool changed = false;
    ga_list_each (at, next, &tenant->members) {
        ga_container(at, struct member, link)->moving = 0;
    }
    ga_list_each (at, next, &tenant->lender.seats) {
        struct lender_seat *seat = ga_container(at, struct lender_seat, link);
        bool moved = has_moved(seat);
        all += moved;
        if (seat->member != NULL) {
            seat->member->moving += moved;
        }
    }
    ga_list_each (at, next, &tenant->members) {
        struct member *member = ga_container(at, struct member, link);
        uint32_t now = member->moving != 0 ? member->moving : 1;
        changed = changed || now != member->movers;
        member->movers = now;
    }
    all = all != 0 ? all : 1;
    changed = changed || all != tenant->lender.movers;
    tenant->lender.movers = all;
    return changed;
}
