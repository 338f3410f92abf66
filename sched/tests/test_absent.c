/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant that has gone is the same one when it comes again: it keeps caps, debts and attained
 * service, however many others have come in between, and in bounded memory. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sched/absent.h"

#define MS GA_NS_PER_MS

static struct sched *sched;
static uint64_t now;
static const struct sched_settings *settings;

static void begin(const char *policy)
{
    static struct sched_settings values;
    const struct sched_gpu gpu = {.copy_engines = 2};
    values = sched_settings_default();
    settings = &values;
    now = 1000 * MS;
    cr_assert_eq(sched_create(&sched, sched_policy_find(policy), &values, &gpu, now), GA_OK);
}

static uint32_t join(uint64_t tenant, uint32_t cap_percent)
{
    uint32_t slot;
    const struct sched_request request = {.tenant = tenant,
                                          .weight = 100,
                                          .cap_percent = cap_percent,
                                          .wants = GPU_ENGINE_BIT(GPU_COMPUTE)};
    cr_assert_eq(sched_join(sched, &request, now, &slot), GA_OK);
    return slot;
}

static void uses(uint32_t slot, uint64_t ns)
{
    now += ns;
    sched_charge(sched, slot, GPU_COMPUTE, ns, now);
}

static bool may_work(uint32_t slot)
{
    const struct sched_decision decision = sched_decide(sched, now);
    for (uint32_t i = 0; i < decision.count; i++) {
        if (decision.awake[i].slot == slot) {
            return true;
        }
    }
    return false;
}

/* Many others come at once, and go. */
static void crowd(uint64_t first, uint32_t count)
{
    uint32_t *slots = calloc(count, sizeof *slots);
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = join(first + i, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        sched_leave(sched, slots[i], now);
    }
    free(slots);
}

Test(absent, a_cap_is_remembered_until_it_is_paid)
{
    begin("none");
    uint32_t slot = join(7, 10);
    cr_assert(may_work(slot));
    uses(slot, 100 * MS); /* the window's 10 ms, and 90 more: paid back in 900 ms */
    sched_leave(sched, slot, now);
    crowd(1000, 500);
    slot = join(7, 10);
    cr_assert_not(may_work(slot));
    sched_leave(sched, slot, now);
    now += 850 * MS;
    crowd(2000, 500);
    slot = join(7, 10);
    cr_assert_not(may_work(slot));
    now += 100 * MS;
    cr_assert(may_work(slot));
    sched_leave(sched, slot, now);
    now += 2000 * MS;
    crowd(3000, 1500); /* by then nobody need know it */
    for (uint32_t i = 0; i < sched->absent_count; i++) {
        cr_assert_leq(sched->absent_room, 32u);
    }
    sched_destroy(sched);
}

/* Each of very many tenants owes something: those that owe most are remembered. */
Test(absent, a_flood_takes_bounded_memory_and_hides_no_large_debt)
{
    enum { FLOOD = 3 * SCHED_ABSENT_MAX };
    begin("none");
    uint32_t slot = join(7, 10);
    uses(slot, 1000 * MS);
    sched_leave(sched, slot, now);
    crowd(1000, 100);
    for (uint64_t i = 0; i < FLOOD; i++) {
        slot = join(5000 + i, 1);
        sched_charge(sched, slot, GPU_COMPUTE, 2 * MS, now);
        sched_leave(sched, slot, now);
    }
    crowd(1000, 100);
    cr_assert_leq(sched->absent_count, SCHED_ABSENT_MAX);
    cr_assert_leq(sched->absent_room, SCHED_ABSENT_MAX);
    cr_assert_not(may_work(join(7, 10)));
    sched_destroy(sched);
}

Test(absent, attained_service_fades_as_if_he_were_here)
{
    double cgs[2];
    for (unsigned i = 0; i < 2; i++) {
        begin("las_fcfs");
        uint32_t slot = join(7, 0);
        uses(slot, 30 * MS);
        if (i == 0) {
            sched_leave(sched, slot, now);
        }
        crowd(1000, 100);
        now += 3 * settings->quantum_ns;
        slot = i == 0 ? join(7, 0) : slot;
        (void)sched_decide(sched, now);
        cgs[i] = sched->tenants[sched->sessions[slot].tenant].cgs;
        sched_destroy(sched);
    }
    cr_assert_gt(cgs[1], 0);
    cr_assert_geq(cgs[0], cgs[1] / 8); /* quanta end at times that it has not seen */
    cr_assert_leq(cgs[0], cgs[1] * 8);
}

Test(absent, a_debt_is_paid_by_who_has_made_it)
{
    begin("tfs");
    uint32_t slot = join(7, 0), other = join(8, 0);
    uint32_t turn = may_work(slot) ? slot : other;
    uses(turn, 500 * MS);
    struct sched_request idle = sched->sessions[turn].request;
    idle.wants = idle.busy = 0;
    idle.idle_ns = settings->hold_ns;
    sched_update(sched, turn, &idle, now);
    (void)sched_decide(sched, now); /* its turn is over: it owes what it took too much */
    double debt = sched_account(sched, turn, now).debt_ns;
    uint64_t number = sched->sessions[turn].request.tenant;
    cr_assert_gt(debt, 100.0 * MS);
    sched_leave(sched, turn, now);
    crowd(1000, 500);
    turn = join(number, 0);
    cr_assert_float_eq(sched_account(sched, turn, now).debt_ns, debt, 1);
    sched_destroy(sched);
}

/* ---- what is known of a tenant who is absent, by itself */

static void keep(uint64_t number, double debt)
{
    const struct sched_tenant tenant = {.number = number, .debt = debt};
    sched_absent_keep(sched, &tenant, now);
}

static double debt_of(uint64_t number)
{
    return sched_absent_take(sched, number, now).debt;
}

Test(absent, what_a_tenant_owes)
{
    struct sched_tenant tenant = {.debt = 5000};
    begin("none");
    cr_assert_float_eq(sched_absent_owes(sched, &tenant, now), 5000, 0);
    sched_bucket_set(&tenant.cap, 10, settings->cap_window_ns, now);
    sched_bucket_set(&tenant.throttle, 20, settings->cap_window_ns, now);
    cr_assert_float_eq(sched_absent_owes(sched, &tenant, now), 5000, 0);
    sched_bucket_take(&tenant.cap, 3000, settings->cap_window_ns, now);
    sched_bucket_take(&tenant.throttle, 7000, settings->cap_window_ns, now);
    cr_assert_float_eq(sched_absent_owes(sched, &tenant, now), 15000, 1e-3);
    cr_assert_float_eq(sched_absent_owes(sched, &tenant, now + 10000), 5000 + 2000 + 5000, 1e-3);
    sched_destroy(sched);
}

Test(absent, service_fades_while_he_is_absent)
{
    struct sched_tenant tenant = {.number = 7, .gs = 100 * MS, .cgs = 50 * MS};
    for (uint64_t quanta = 0; quanta < 3; quanta++) {
        begin("none");
        sched_absent_keep(sched, &tenant, now);
        cr_assert_eq(sched->absent_count, 1u);
        now += quanta * settings->quantum_ns;
        const struct sched_tenant taken = sched_absent_take(sched, 7, now);
        const double cgs[] = {50.0 * MS, 90.0 * MS, 18.0 * MS}; /* 0.8 gs + 0.2 cgs; 0.2 of that */
        cr_assert_float_eq(taken.gs, quanta == 0 ? 100.0 * MS : 0, 1);
        cr_assert_float_eq(taken.cgs, cgs[quanta], 1);
        cr_assert_eq(sched->absent_count, 0u);
        sched_destroy(sched);
    }
}

/* The state that a policy keeps of a tenant (of an epoch that is over) is not the next one's. */
Test(absent, a_row_begins_without_the_state_of_policies)
{
    begin("tfs");
    uint32_t rows = 0;
    for (uint64_t tenant = 0; rows == 0 || rows < sched->tenant_room; tenant++) {
        uint32_t slot = join(tenant, 0);
        memset(sched_own_tenant(sched, sched->sessions[slot].tenant), 0xff,
               sched->own_tenants.bytes);
        sched_leave(sched, slot, now);
        rows = sched->tenant_count;
    }
    uint32_t slot = join(1000, 0); /* all rows have been used */
    const unsigned char *own = sched_own_tenant(sched, sched->sessions[slot].tenant);
    for (size_t i = 0; i < sched->own_tenants.bytes; i++) {
        cr_assert_eq(own[i], 0);
    }
    sched_destroy(sched);
}

/* A service of 1250 ns is one of 1000 ns of a quantum later, and one of 200 of the next. */
Test(absent, who_matters_no_more_is_not_kept)
{
    const struct sched_tenant little = {.number = 9, .gs = 1250};
    begin("none");
    keep(7, 999.5);
    cr_assert_eq(sched->absent_count, 0u);
    keep(7, 1000);
    cr_assert_eq(sched->absent_count, 1u);
    for (uint64_t i = 1; i < 16; i++) {
        sched_absent_keep(sched, &little, now);
    }
    cr_assert_eq(sched->absent_count, 16u);
    now += settings->quantum_ns;
    keep(8, 2000);
    cr_assert_eq(sched->absent_count, 17u, "those still matter");
    now += settings->quantum_ns;
    while (sched->absent_count < sched->absent_room) {
        keep(100 + sched->absent_count, 3000);
    }
    keep(10, 5000);
    cr_assert_eq(sched->absent_room, 32u, "there is room behind them");
    cr_assert_float_eq(debt_of(7), 1000, 0);
    cr_assert_float_eq(debt_of(8), 2000, 0);
    cr_assert_float_eq(debt_of(10), 5000, 0);
    sched_destroy(sched);
}

Test(absent, of_too_many_those_that_owe_least_are_forgotten)
{
    begin("none");
    for (uint64_t i = 0; i < SCHED_ABSENT_MAX; i++) {
        keep(1 + i, i == 100 ? 2000 : i == 3000 ? 3000 : 4000 + (double)i);
    }
    cr_assert_eq(sched->absent_count, SCHED_ABSENT_MAX);
    keep(9001, 1999);
    cr_assert_float_eq(debt_of(9001), 0, 0, "all others owe more");
    keep(9002, 1000000);
    cr_assert_float_eq(debt_of(101), 0, 0, "he has owed least");
    cr_assert_float_eq(debt_of(3001), 3000, 0);
    cr_assert_float_eq(debt_of(9002), 1000000, 0);
    cr_assert_float_eq(debt_of(1), 4000, 0);
    cr_assert_float_eq(debt_of(SCHED_ABSENT_MAX), 4000.0 + SCHED_ABSENT_MAX - 1, 0);
    const struct sched_tenant stranger = sched_absent_take(sched, 77777, now);
    cr_assert_eq(stranger.number, 77777u);
    cr_assert_eq(stranger.idle_since, SCHED_NEVER);
    sched_destroy(sched);
}
