/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the request manager of one GPU to the policy and the sessions, number by number.
 * Time is the test's. test_scheduler.c has what sessions can do to each other. */
#include "server/tests/scheduler_members.h"

/* ---- what the policy hears */

static void check_hears(unsigned i, enum gpu_phase phase, unsigned wants, unsigned busy)
{
    cr_assert_eq(members[i].asks.phase, phase, "member %u: phase", i);
    cr_assert_eq(members[i].asks.wants, wants, "member %u: wants", i);
    cr_assert_eq(members[i].asks.busy, busy, "member %u: busy", i);
}

Test(scheduler_gpu, the_policy_hears_what_each_asks_for)
{
    const unsigned compute = GPU_ENGINE_BIT(GPU_COMPUTE), in = GPU_ENGINE_BIT(GPU_H2D),
                   out = GPU_ENGINE_BIT(GPU_D2H);
    begin("rr", 4);
    turn_at(BEGAN);
    check_hears(0, GPU_PHASE_DFL, 0, 0);
    member_asks(0, GPU_PHASE_KL);
    member_asks(1, GPU_PHASE_H2D);
    member_asks(2, GPU_PHASE_D2H);
    member_asks(3, GPU_PHASES); /* no phase */
    turn_at(BEGAN + 1);
    check_hears(0, GPU_PHASE_KL, compute, compute); /* it has the turn */
    check_hears(1, GPU_PHASE_H2D, in, 0);
    check_hears(2, GPU_PHASE_D2H, out, 0);
    check_hears(3, GPU_PHASE_DFL, 0, 0);
    member_asks(0, GPU_PHASE_DFL);
    turn_at(BEGAN + 2);
    check_hears(0, GPU_PHASE_DFL, 0, 0);
    check_hears(1, GPU_PHASE_H2D, in, in);
    end();
}

/* A session that returns its turn early has had nothing to do for as long as turns are held. */
Test(scheduler_gpu, the_policy_hears_since_when_a_session_has_nothing_to_do)
{
    begin("rr", 2);
    const uint64_t hold_ns = settings.values.hold_ns, until = BEGAN + settings.values.slice_ns;
    for (unsigned round = 0; round < 3; round++) {
        member_asks(0, GPU_PHASE_KL);
        turn_at(now + 1);
        member_asks(1, GPU_PHASE_KL);
        turn_at(now + 1);
        uint64_t ends = grants[0].until_ns;
        cr_assert(round > 0 || ends == until + 1);
        member_asks(0, GPU_PHASE_DFL);
        turn_at(round == 0 ? ends - 1 : round == 1 ? ends : ends + 1);
        cr_assert_eq(members[0].asks.idle_ns, round == 0 ? hold_ns : 0, "%u", round);
        member_asks(1, GPU_PHASE_DFL);
        turn_at(now + 1);
    }
    end();
}

Test(scheduler_gpu, terms_are_told_as_they_are)
{
    const struct scheduler_terms terms = {
        .weight = 7, .priority = 5, .cap_percent = 30, .throttle_percent = 40, .goal_ns = 6 * MS};
    begin("rr", 1);
    figures_set(0, 3 * MS, 0, 0);
    now += 10 * MS;
    scheduler_gpu_terms(&members[0], &terms, now);
    cr_assert_eq(members[0].asks.weight, 7u);
    cr_assert_eq(members[0].asks.priority, 5u);
    cr_assert_eq(members[0].asks.cap_percent, 30u);
    cr_assert_eq(members[0].asks.throttle_percent, 40u);
    cr_assert_eq(members[0].asks.goal_ns, 6 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], 3 * MS, "what was used before");
    end();
}

/* ---- grants */

static void check_grant(unsigned i, uint64_t turn, unsigned what, uint64_t until_ns)
{
    uint64_t word = grants[i].word;
    cr_assert_eq(grant_turn(word), turn, "member %u: turn %lu", i, (unsigned long)grant_turn(word));
    cr_assert_eq(grant_what(word), what, "member %u: %u is allowed", i, grant_what(word));
    cr_assert(what == 0 || grants[i].until_ns == until_ns, "member %u: until %ld ns later", i,
              (long)(grants[i].until_ns - until_ns));
}

Test(scheduler_gpu, a_session_begins_with_a_turn_that_it_has_to_return)
{
    const struct sched_request asks = {.weight = 1};
    begin("rr", 0);
    grants[0].word = grant_word(41, GRANT_ALL); /* of another one, at its place */
    member_join(&asks);
    check_grant(0, 42, 0, 0);
    cr_assert(members[0].holds && members[0].lost && members[0].rings);
    cr_assert_eq(grants[0].horizon_ns, settings.values.horizon_ns);
    cr_assert_eq(grants[0].hold_ns, settings.values.hold_ns);
    cr_assert_eq(grants[0].patience_ns, settings.values.patience_ns);
    cr_assert_eq(members[0].joined_ns, BEGAN);
    turn_at(BEGAN + 1);
    cr_assert(members[0].lost, "it has not returned it");
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN + 2);
    check_grant(0, 43, GRANT_ALL | GRANT_ALONE, SCHED_NEVER);
    cr_assert_eq(grants[0].since_ns, BEGAN + 2);
    end();
}

Test(scheduler_gpu, a_grant_says_what_and_until_when)
{
    begin("rr", 2);
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN);
    check_grant(0, 2, GRANT_ALL | GRANT_ALONE, SCHED_NEVER);
    members[0].rings = false;
    turn_at(BEGAN + MS);
    cr_assert(!members[0].rings, "no news");
    member_asks(1, GPU_PHASE_KL);
    turn_at(BEGAN + 2 * MS);
    check_grant(0, 2, GRANT_ALL, BEGAN + settings.values.slice_ns);
    cr_assert(members[0].rings);
    cr_assert_eq(grants[0].since_ns, BEGAN, "it is the same turn");
    check_grant(1, 1, 0, 0);
    end();
}

/* A session of a higher priority ends a turn before its time. */
Test(scheduler_gpu, a_turn_is_taken_back)
{
    const struct scheduler_terms high = {.weight = 1, .priority = 9};
    begin("priority", 2);
    scheduler_gpu_terms(&members[1], &high, now);
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN + MS); /* nobody waits for the other one any more */
    check_grant(0, 2, GRANT_ALL | GRANT_ALONE, SCHED_NEVER);
    member_asks(1, GPU_PHASE_KL);
    turn_at(BEGAN + 2 * MS);
    check_grant(0, 2, GRANT_ALL, BEGAN + 2 * MS);
    turn_at(BEGAN + 3 * MS);
    check_grant(0, 2, GRANT_ALL, BEGAN + 2 * MS); /* and not later */
    check_grant(1, 1, 0, 0);
    end();
}

Test(scheduler_gpu, beside_others_it_may_do_what_it_was_woken_for)
{
    begin("ps", 2);
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN);
    check_grant(0, 2, GRANT_ALL | GRANT_ALONE, SCHED_NEVER);
    member_asks(1, GPU_PHASE_D2H);
    turn_at(BEGAN + 1);
    check_grant(0, 2, 1u << GPU_PHASE_KL | GRANT_ALONE, SCHED_NEVER);
    check_grant(1, 2, 1u << GPU_PHASE_D2H | GRANT_ALONE, SCHED_NEVER);
    end();
}

/* A group is awake together; who has nothing to do may begin anything. */
Test(scheduler_gpu, a_turn_in_anticipation)
{
    const struct sched_request half = {.weight = 1, .demand_ppm = 500000};
    begin("groups", 0);
    member_join(&half);
    member_join(&half);
    for (unsigned i = 0; i < 2; i++) {
        member_asks(i, GPU_PHASE_KL);
    }
    turn_at(BEGAN);
    check_grant(1, 2, 1u << GPU_PHASE_KL | GRANT_ALONE, SCHED_NEVER);
    member_asks(1, GPU_PHASE_DFL);
    turn_at(BEGAN + 1);
    check_grant(1, 3, GRANT_ALL | GRANT_ALONE, SCHED_NEVER);
    check_hears(1, GPU_PHASE_DFL, 0, GPU_ENGINE_BIT(GPU_COMPUTE));
    end();
}

Test(scheduler_gpu, a_cap_ends_by_the_clock)
{
    const struct scheduler_terms half = {.weight = 1, .cap_percent = 50};
    begin("none", 2);
    scheduler_gpu_terms(&members[0], &half, now);
    member_asks(0, GPU_PHASE_KL);
    member_asks(1, GPU_PHASE_KL);
    turn_at(BEGAN);
    check_grant(0, 2, GRANT_ALL, BEGAN + 100 * MS); /* 50 of 100 ms, and what comes in meanwhile */
    check_grant(1, 2, GRANT_ALL | GRANT_ALONE | GRANT_FREE, SCHED_NEVER);
    end();
}

/* ---- turns that are not returned, and when it looks again */

Test(scheduler_gpu, it_looks_when_something_ends)
{
    begin("rr", 2);
    const uint64_t quantum_ns = settings.values.quantum_ns, slice_ns = settings.values.slice_ns;
    turn_at(BEGAN);
    cr_assert_eq(gpu.next_ns, SCHED_NEVER, "nobody has work");
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN);
    cr_assert_eq(gpu.next_ns, BEGAN + quantum_ns, "nobody rings");
    member_asks(1, GPU_PHASE_KL);
    turn_at(BEGAN + MS);
    cr_assert_eq(gpu.next_ns, BEGAN + slice_ns, "the end of the turn");
    turn_at(BEGAN + slice_ns - 1000);
    cr_assert_eq(gpu.next_ns, BEGAN + slice_ns - 1000 + 20000, "it does not spin");
    turn_at(BEGAN + slice_ns);
    cr_assert_eq(gpu.next_ns, BEGAN + slice_ns + SCHEDULER_PATIENCE_NS);
    end();
}

Test(scheduler_gpu, when_a_turn_is_lost)
{
    static const struct {
        uint64_t looked_ms, lost_ms; /* behind its end */
    } cases[] = {{0, 250}, {100, 350}, {1900, 2150}, {2000, 2250}, {2100, 2250}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("rr", 2);
        member_asks(0, GPU_PHASE_KL);
        turn_at(BEGAN);
        member_asks(1, GPU_PHASE_KL);
        turn_at(BEGAN);
        const uint64_t until = grants[0].until_ns, lost = until + cases[i].lost_ms * MS;
        requests[0].looked_ns = until + cases[i].looked_ms * MS;
        turn_at(lost - 1);
        cr_assert(!members[0].lost, "case %zu", i);
        cr_assert_eq(gpu.next_ns, lost - 1 + 20000);
        turn_at(lost);
        cr_assert(members[0].lost, "case %zu", i);
        /* The session has had the GPU, whatever it says. */
        cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], cases[i].lost_ms * MS);
        cr_assert_eq(members[0].filled_ns, cases[i].lost_ms * MS);
        cr_assert_eq(members[0].asks.idle_ns, settings.values.hold_ns, "nobody waits for it");
        check_hears(0, GPU_PHASE_DFL, 0, 0);
        check_grant(1, 2, GRANT_ALL | GRANT_ALONE, SCHED_NEVER);
        figures_set(0, cases[i].lost_ms * MS, 0, 0); /* and it says so, too */
        turn_at(lost + MS);
        cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], cases[i].lost_ms * MS, "once");
        end();
    }
}

/* Reports about the future count as now. */
Test(scheduler_gpu, who_says_that_it_will_have_looked)
{
    begin("rr", 2);
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN);
    member_asks(1, GPU_PHASE_KL);
    turn_at(BEGAN);
    requests[0].looked_ns = UINT64_MAX;
    turn_at(grants[0].until_ns + 100 * MS);
    cr_assert_eq(gpu.next_ns, now + SCHEDULER_PATIENCE_NS);
    end();
}

/* ---- members come and go */

Test(scheduler_gpu, as_many_as_there_are)
{
    begin("none", MEMBERS);
    for (unsigned i = 0; i < MEMBERS; i++) {
        cr_assert_eq(gpu.by_slot[members[i].slot], &members[i]);
        member_asks(i, GPU_PHASE_KL);
    }
    cr_assert_geq(gpu.slots, MEMBERS);
    turn_at(BEGAN);
    for (unsigned i = 0; i < MEMBERS; i++) {
        check_grant(i, 2, GRANT_ALL | GRANT_ALONE | GRANT_FREE, SCHED_NEVER);
    }
    scheduler_gpu_leave(&members[--count], now);
    cr_assert_null(gpu.by_slot[members[count].slot]);
    for (unsigned i = MEMBERS; i < gpu.slots; i++) {
        cr_assert_null(gpu.by_slot[i]);
    }
    end();
}

Test(scheduler_gpu, who_leaves_has_used_what_it_says)
{
    const struct scheduler_settings las = {.policy = sched_policy_find("las"),
                                           .values = sched_settings_default(),
                                           .gpu = {.copy_engines = 2}};
    begin("rr", 1);
    struct scheduler_settings other = las;
    other.values.horizon_ns = 7 * MS;
    other.values.hold_ns = 3 * MS;
    other.values.patience_ns = 5 * MS;
    figures_set(0, 5 * MS, 0, 0);
    now += 10 * MS;
    scheduler_gpu_change(&gpu, &other, now);
    cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], 5 * MS, "of the policy before");
    cr_assert_eq(gpu.settings.policy, las.policy);
    cr_assert_eq(grants[0].horizon_ns, 7 * MS);
    cr_assert_eq(grants[0].hold_ns, 3 * MS);
    cr_assert_eq(grants[0].patience_ns, 5 * MS);
    end();
}
