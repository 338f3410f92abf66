/* SPDX-License-Identifier: Apache-2.0 */
/* The request manager of one GPU: who gets a turn, when it ends, and what a session can do to
 * others by what it says or does not say. Time is the test's. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/turns/scheduler_gpu.h"

#define MEMBERS 4u
#define MS      GA_NS_PER_MS

static struct scheduler_gpu gpu;
static struct scheduler_member members[MEMBERS];
static struct grant_request requests[MEMBERS];
static struct grant grants[MEMBERS];
static struct figures figures[MEMBERS];
static uint64_t now;

static struct scheduler_settings settings_of(const char *policy)
{
    struct scheduler_settings settings = {.policy = sched_policy_find(policy),
                                          .values = sched_settings_default(),
                                          .gpu = {.copy_engines = 2}};
    cr_assert_not_null(settings.policy, "%s", policy);
    return settings;
}

static void member_join_capped(unsigned i, uint32_t cap_percent)
{
    members[i] = (struct scheduler_member){.seat = i, .ordinal = 3, .request = &requests[i]};
    members[i].grant = &grants[i];
    members[i].figures = &figures[i];
    members[i].asks = (struct sched_request){.tenant = i, .weight = 1, .cap_percent = cap_percent};
    cr_assert_eq(scheduler_gpu_join(&gpu, &members[i], now), GA_OK);
}

static void member_join(unsigned i)
{
    member_join_capped(i, 0);
}

static void begin(const char *policy)
{
    const struct scheduler_settings settings = settings_of(policy);
    now = 1000 * MS;
    memset(requests, 0, sizeof requests);
    memset(grants, 0, sizeof grants);
    memset(figures, 0, sizeof figures);
    cr_assert_eq(scheduler_gpu_init(&gpu, &settings, now), GA_OK);
    for (unsigned i = 0; i < MEMBERS; i++) {
        member_join(i);
    }
}

static void end(void)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        scheduler_gpu_leave(&members[i], now);
    }
    scheduler_gpu_fini(&gpu);
}

/* ---- a session that keeps to the rules */

static bool member_may(unsigned i, enum gpu_phase phase)
{
    uint64_t grant = grants[i].word;
    bool timely = (grant_what(grant) & (GRANT_ALONE | GRANT_FREE)) != 0 || now < grants[i].until_ns;
    return grant_turn(grant) > grant_turn(requests[i].word) && timely &&
           (grant_what(grant) >> phase & 1) != 0;
}

/* It returns what it has, and asks for another turn, or for none. */
static void member_asks(unsigned i, enum gpu_phase phase)
{
    requests[i].word = grant_word(grant_turn(grants[i].word), phase);
}

static void member_uses(unsigned i, enum gpu_engine engine, uint64_t ns)
{
    figures[i].gpus[0].gpu = 3 + 1;
    figures[i].gpus[0].busy_ns[engine] += ns;
}

static unsigned count_with_turns(enum gpu_phase phase)
{
    unsigned count = 0;
    for (unsigned i = 0; i < MEMBERS; i++) {
        count += member_may(i, phase);
    }
    return count;
}

/* The policy decides, until it has to wait for time or for somebody. */
static void turn(void)
{
    scheduler_gpu_turn(&gpu, now);
}

static void passes(uint64_t ns)
{
    now += ns;
    turn();
}

/* ---- */

Test(scheduler, one_alone_has_no_end_until_another_wants)
{
    begin("rr");
    turn();
    cr_assert_eq(count_with_turns(GPU_PHASE_KL), 0, "nobody has asked");
    member_asks(0, GPU_PHASE_KL);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL) && member_may(0, GPU_PHASE_H2D));
    cr_assert_neq(grant_what(grants[0].word) & GRANT_ALONE, 0u);
    member_asks(1, GPU_PHASE_H2D);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL) && !member_may(1, GPU_PHASE_H2D));
    cr_assert_eq(grant_what(grants[0].word) & GRANT_ALONE, 0u);
    cr_assert(members[0].rings, "it must look");
    cr_assert_leq(grants[0].until_ns, now + gpu.settings.values.slice_ns);
    now = grants[0].until_ns;
    cr_assert(!member_may(0, GPU_PHASE_KL));
    turn();
    cr_assert(!member_may(1, GPU_PHASE_H2D), "the first one's work may not be done");
    member_asks(0, GPU_PHASE_KL);
    turn();
    cr_assert(member_may(1, GPU_PHASE_H2D) && !member_may(0, GPU_PHASE_KL));
    end();
}

Test(scheduler, who_needs_it_no_more_gives_way_at_once)
{
    begin("rr");
    member_asks(0, GPU_PHASE_KL);
    member_asks(1, GPU_PHASE_KL);
    turn();
    cr_assert_eq(count_with_turns(GPU_PHASE_KL), 1);
    unsigned first = member_may(0, GPU_PHASE_KL) ? 0 : 1;
    member_asks(first, GPU_PHASE_DFL);
    turn();
    cr_assert(member_may(1 - first, GPU_PHASE_KL));
    cr_assert_neq(grant_what(grants[1 - first].word) & GRANT_ALONE, 0u);
    end();
}

/* The turn of the first one has just ended, and another one waits. */
static void begin_behind_a_turn(void)
{
    begin("rr");
    member_asks(0, GPU_PHASE_KL);
    turn();
    member_asks(1, GPU_PHASE_KL);
    turn();
    passes(gpu.settings.values.slice_ns);
}

Test(scheduler, a_turn_that_is_not_returned_is_lost)
{
    begin_behind_a_turn();
    cr_assert(!member_may(1, GPU_PHASE_KL));
    cr_assert_leq(gpu.next_ns, now + SCHEDULER_PATIENCE_NS);
    passes(SCHEDULER_PATIENCE_NS);
    cr_assert(members[0].lost && member_may(1, GPU_PHASE_KL));
    uint64_t had = grant_turn(grants[0].word);
    for (unsigned i = 0; i < 100; i++) { /* it gets no other one, and the other goes on */
        passes(gpu.settings.values.slice_ns);
        cr_assert_eq(grant_turn(grants[0].word), had);
        cr_assert(member_may(1, GPU_PHASE_KL));
    }
    member_asks(0, GPU_PHASE_KL); /* it is there again */
    turn();
    passes(gpu.settings.values.slice_ns);
    member_asks(1, GPU_PHASE_KL);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL) && !members[0].lost);
    end();
}

/* Its last kernel runs for long. It says that it looks, and even more than is true. */
Test(scheduler, who_looks_keeps_its_turn_for_some_patience)
{
    begin_behind_a_turn();
    uint64_t over = now, patience = gpu.settings.values.patience_ns;
    for (unsigned i = 0; now - over < patience + SCHEDULER_PATIENCE_NS; i++) {
        cr_assert(!members[0].lost && !member_may(1, GPU_PHASE_KL), "%u", i);
        requests[0].looked_ns = i % 2 == 0 ? now : UINT64_MAX;
        passes(SCHEDULER_PATIENCE_NS / 2);
        cr_assert(members[0].lost || gpu.next_ns <= now + SCHEDULER_PATIENCE_NS);
    }
    cr_assert(members[0].lost && member_may(1, GPU_PHASE_KL));
    end();
}

Test(scheduler, a_session_in_the_place_of_another_does_not_inherit_its_turn)
{
    begin("rr");
    member_asks(0, GPU_PHASE_KL);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL));
    uint64_t had = grant_turn(grants[0].word);
    scheduler_gpu_leave(&members[0], now);
    member_join(0);
    turn();
    cr_assert(!member_may(0, GPU_PHASE_KL) && grant_turn(grants[0].word) > had);
    member_asks(0, GPU_PHASE_KL);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL));
    end();
}

Test(scheduler, gpu_time_is_what_the_session_says_within_what_is_possible)
{
    begin("las");
    member_asks(0, GPU_PHASE_KL);
    turn();
    member_uses(0, GPU_COMPUTE, 3 * MS);
    passes(5 * MS);
    struct sched_account account = sched_account(gpu.sched, members[0].slot, now);
    cr_assert_eq(account.attained_ns[GPU_COMPUTE], 3 * MS);
    member_uses(0, GPU_H2D, UINT64_MAX / 2);
    passes(5 * MS);
    account = sched_account(gpu.sched, members[0].slot, now);
    cr_assert_eq(account.attained_ns[GPU_H2D], 10 * MS, "it is here for no longer");
    figures[0].gpus[0].busy_ns[GPU_COMPUTE] = 0;
    passes(MS);
    account = sched_account(gpu.sched, members[0].slot, now);
    cr_assert_eq(account.attained_ns[GPU_COMPUTE], 3 * MS, "nothing is given back");
    end();
}

/* Three sessions whose kernels fill 60, 45 and 100 percent of the GPU: the first two make a group.
 */
Test(scheduler, demand_is_what_kernels_fill)
{
    const unsigned percent[] = {60, 45, 100};
    begin("groups");
    for (unsigned i = 0; i < 3; i++) {
        member_asks(i, GPU_PHASE_KL);
        turn();
        member_uses(i, GPU_COMPUTE, 20 * MS);
        figures[i].gpus[0].done_ns = 20 * MS;
        figures[i].gpus[0].demand_ns = 20 * MS * percent[i] / 100;
        figures[i].gpus[0].busy_any_ns = 20 * MS;
        figures[i].gpus[0].copied_bytes[0] = 2000000;
        passes(20 * MS);
        member_asks(i, GPU_PHASE_DFL);
        turn();
        cr_assert_eq(members[i].asks.demand_ppm, percent[i] * 10000);
        cr_assert_eq(members[i].asks.bandwidth, 100000000u);
    }
    for (unsigned i = 0; i < 3; i++) {
        member_asks(i, GPU_PHASE_KL);
    }
    turn();
    cr_assert_eq(count_with_turns(GPU_PHASE_KL), 1, "the one that fills it");
    now = grants[2].until_ns;
    turn();
    member_asks(2, GPU_PHASE_KL);
    turn();
    cr_assert(count_with_turns(GPU_PHASE_KL) == 2 && !member_may(2, GPU_PHASE_KL));
    figures[0].gpus[0].demand_ns = UINT64_MAX;
    turn();
    cr_assert_eq(members[0].asks.demand_ppm, 1000000u, "no kernel fills more than the GPU");
    end();
}

Test(scheduler, without_a_policy_all_may_at_once_until_there_is_one)
{
    const struct scheduler_settings rr = settings_of("rr"), none = settings_of("none");
    begin("none");
    for (unsigned i = 0; i < MEMBERS; i++) {
        member_asks(i, GPU_PHASE_KL);
    }
    turn();
    cr_assert_eq(count_with_turns(GPU_PHASE_KL), MEMBERS);
    cr_assert_neq(grant_what(grants[0].word) & GRANT_FREE, 0u);
    scheduler_gpu_change(&gpu, &rr, now);
    turn();
    for (unsigned i = 0; i < MEMBERS; i++) {
        member_asks(i, GPU_PHASE_KL);
    }
    turn();
    cr_assert_eq(count_with_turns(GPU_PHASE_KL), 1);
    scheduler_gpu_change(&gpu, &none, now);
    turn();
    cr_assert_eq(count_with_turns(GPU_PHASE_KL), MEMBERS);
    end();
}

Test(scheduler, a_cap_ends_the_turn_of_who_is_free)
{
    const struct scheduler_terms half = {.weight = 1, .cap_percent = 50};
    begin("none");
    scheduler_gpu_terms(&members[0], &half, now);
    for (unsigned i = 0; i < 2; i++) {
        member_asks(i, GPU_PHASE_KL);
    }
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL) && member_may(1, GPU_PHASE_KL));
    for (unsigned i = 0; i < 2; i++) {
        member_uses(i, GPU_COMPUTE, 110 * MS); /* half of a window of 100 ms is allowed */
    }
    passes(110 * MS);
    cr_assert_not(member_may(0, GPU_PHASE_KL), "its turn is over");
    cr_assert(member_may(1, GPU_PHASE_KL), "others have no cap");
    end();
}

/* Use that the last look has not seen, and a new session of the same tenant. */
Test(scheduler, a_session_that_ends_is_charged_and_so_is_its_tenant)
{
    const struct scheduler_terms tenth = {.weight = 1, .cap_percent = 10};
    begin("none");
    scheduler_gpu_terms(&members[0], &tenth, now);
    member_asks(0, GPU_PHASE_KL);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL));
    member_uses(0, GPU_COMPUTE, 100 * MS);
    now += 100 * MS;
    scheduler_gpu_leave(&members[0], now);
    memset(&figures[0], 0, sizeof figures[0]);
    member_join_capped(0, 10);
    member_asks(0, GPU_PHASE_KL);
    passes(800 * MS);
    cr_assert_not(member_may(0, GPU_PHASE_KL));
    passes(200 * MS);
    cr_assert(member_may(0, GPU_PHASE_KL));
    end();
}

/* The part that kernels fill counts when they are done; running ones count whole. */
Test(scheduler, a_cap_counts_what_kernels_have_filled)
{
    begin("none");
    scheduler_gpu_leave(&members[0], now);
    member_join_capped(0, 50);
    for (unsigned i = 0; i < 100; i++) {
        bool runs = i == 98, ran = i == 99;
        member_asks(0, GPU_PHASE_KL);
        passes(ran ? 110 * MS : 10 * MS);
        cr_assert(ran || member_may(0, GPU_PHASE_KL), "%u", i);
        member_uses(0, GPU_COMPUTE, runs ? 110 * MS : 10 * MS);
        figures[0].gpus[0].done_ns += runs ? 0 : 10 * MS;
        figures[0].gpus[0].demand_ns += runs ? 0 : MS / 10;
    }
    cr_assert_not(member_may(0, GPU_PHASE_KL));
    end();
}

/* Nobody looks at who is free or alone, so that may be much by then. */
Test(scheduler, what_was_used_before_a_cap_is_not_of_it)
{
    const struct scheduler_terms half = {.weight = 1, .cap_percent = 50};
    begin("none");
    member_asks(0, GPU_PHASE_KL);
    turn();
    member_uses(0, GPU_COMPUTE, 1000 * MS);
    figures[0].gpus[0].demand_ns = 2000 * MS; /* its kernels fill the GPU, now and later */
    now += 1000 * MS;
    scheduler_gpu_terms(&members[0], &half, now);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL));
    member_uses(0, GPU_COMPUTE, 110 * MS);
    passes(110 * MS);
    cr_assert_not(member_may(0, GPU_PHASE_KL));
    end();
}

/* The use of each quantum is counted in it, and forgotten as fast. */
Test(scheduler, who_was_alone_for_long_is_not_the_last_for_as_long)
{
    begin("las");
    const uint64_t quantum_ns = gpu.settings.values.quantum_ns;
    member_asks(0, GPU_PHASE_KL);
    turn();
    for (unsigned i = 0; i < 20; i++) {
        cr_assert_leq(gpu.next_ns, now + quantum_ns);
        member_uses(0, GPU_COMPUTE, gpu.next_ns - now);
        now = gpu.next_ns;
        turn();
    }
    cr_assert_leq(sched_account(gpu.sched, members[0].slot, now).cgs_ns, (double)quantum_ns + 1);
    end();
}

Test(scheduler, who_has_a_goal_goes_first)
{
    const struct scheduler_terms goal = {.weight = 1, .goal_ns = 5 * MS};
    begin("latency");
    scheduler_gpu_terms(&members[2], &goal, now);
    for (unsigned i = 0; i < MEMBERS; i++) {
        member_asks(i, GPU_PHASE_KL);
    }
    turn();
    cr_assert_eq(count_with_turns(GPU_PHASE_KL), 1);
    cr_assert(member_may(2, GPU_PHASE_KL));
    end();
}

Test(scheduler, another_policy_finds_the_accounts_of_the_last_one)
{
    const struct scheduler_settings tfs = settings_of("tfs");
    begin("rr");
    member_asks(0, GPU_PHASE_KL);
    turn();
    member_uses(0, GPU_COMPUTE, 3 * MS);
    passes(5 * MS);
    uint64_t turns = sched_account(gpu.sched, members[0].slot, now).turns;
    scheduler_gpu_change(&gpu, &tfs, now);
    turn();
    struct sched_account account = sched_account(gpu.sched, members[0].slot, now);
    cr_assert_eq(account.attained_ns[GPU_COMPUTE], 3 * MS);
    cr_assert_geq(account.turns, turns);
    cr_assert_eq(grants[1].horizon_ns, tfs.values.horizon_ns);
    end();
}

/* A session that may do one thing beside others does no other thing. */
Test(scheduler, ps_wakes_by_phase)
{
    begin("ps");
    member_asks(0, GPU_PHASE_KL);
    member_asks(1, GPU_PHASE_H2D);
    member_asks(2, GPU_PHASE_KL);
    turn();
    cr_assert(member_may(0, GPU_PHASE_KL) && !member_may(0, GPU_PHASE_H2D));
    cr_assert(member_may(1, GPU_PHASE_H2D) && !member_may(1, GPU_PHASE_KL));
    member_asks(1, GPU_PHASE_D2H);
    turn();
    cr_assert(member_may(1, GPU_PHASE_D2H));
    end();
}

/* ---- members 1, 2 and 3 say anything; member 0 keeps to the rules */

static uint64_t seed;

static uint64_t any(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void lie(unsigned i)
{
    static const uint64_t words[] = {0, UINT64_MAX, 1, UINT64_C(1) << 63};
    uint64_t turn = grant_turn(grants[i].word);
    requests[i].word = any() % 4 == 0   ? words[any() % 4]
                       : any() % 2 == 0 ? grant_word(turn + any() % 3 - 1, (unsigned)any() % 8)
                                        : any();
    struct gpu_figures *row = &figures[i].gpus[any() % 3];
    row->gpu = any() % 6;
    row->busy_ns[any() % GPU_ENGINES] = any() % 2 == 0 ? any() : any() % now;
}

/* How many turns it gets in 60 s in which the others say anything, and it works 2 ms in each. */
static unsigned honest_turns(const char *policy)
{
    unsigned turns = 0;
    uint64_t last[MEMBERS] = {0}, until = 0;
    begin(policy);
    until = now + 60000 * MS;
    seed = 88172645463325252u;
    member_asks(0, GPU_PHASE_KL);
    while (now < until) {
        lie(1 + (unsigned)any() % (MEMBERS - 1));
        turn();
        if (member_may(0, GPU_PHASE_KL)) {
            turns++;
            now += 2 * MS;
            member_uses(0, GPU_COMPUTE, 2 * MS);
        }
        if (!member_may(0, GPU_PHASE_KL)) {
            member_asks(0, GPU_PHASE_KL);
        }
        for (unsigned i = 0; i < MEMBERS; i++) {
            cr_assert_geq(grant_turn(grants[i].word), last[i], "turns are given in order");
            last[i] = grant_turn(grants[i].word);
        }
        cr_assert_gt(gpu.next_ns, now - 3 * MS, "it does not spin");
        now += any() % (3 * MS);
    }
    end();
    return turns;
}

Test(scheduler, whatever_others_say_a_session_gets_its_turns)
{
    for (size_t i = 0; sched_policy_at(i) != NULL; i++) {
        const char *policy = sched_policy_name(sched_policy_at(i));
        unsigned turns = honest_turns(policy);
        cr_assert_geq(turns, 20, "%s: %u turns", policy, turns);
    }
}
