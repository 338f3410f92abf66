/* SPDX-License-Identifier: Apache-2.0 */
/* The use that the request manager of one GPU makes of the times that a session reports: charges,
 * caps, and the demand of its kernels. */
#include "server/tests/scheduler_members.h"
#include "server/usage/time_shares.h"

/* The part that kernels have filled: no more than is known of finished ones, and all of the time of
 * running ones. */
Test(scheduler_times, what_kernels_have_filled)
{
    static const struct {
        uint64_t busy, done, demand, filled; /* ms */
    } cases[] = {{20, 20, 10, 10}, {30, 20, 10, 20}, {30, 0, 0, 30},   {30, 30, 40, 30},
                 {30, 10, 30, 30}, {30, 40, 10, 10}, {30, 20, 20, 30}, {30, 20, 19, 29}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("rr", 1);
        member_asks(0, GPU_PHASE_KL);
        turn_at(BEGAN);
        figures_set(0, cases[i].busy * MS, cases[i].done * MS, cases[i].demand * MS);
        turn_at(BEGAN + 50 * MS);
        cr_assert_eq(members[0].charged_ns[GPU_COMPUTE], cases[i].busy * MS, "case %zu", i);
        cr_assert_eq(members[0].filled_ns, cases[i].filled * MS, "case %zu: %lu", i,
                     (unsigned long)members[0].filled_ns);
        end();
    }
}

/* A session that has worked before there was a policy. */
Test(scheduler_times, what_was_before_is_not_charged)
{
    const struct sched_request asks = {.weight = 1};
    begin("rr", 0);
    struct gpu_figures *row = figures_set(0, 500 * MS, 400 * MS, 300 * MS);
    row->busy_ns[GPU_H2D] = 70 * MS;
    member_join(&asks);
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN);
    figures_set(0, 520 * MS, 410 * MS, 305 * MS);
    row->busy_ns[GPU_H2D] = 71 * MS;
    turn_at(BEGAN + 50 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], 20 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_H2D], 1 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_D2H], 0u);
    cr_assert_eq(members[0].filled_ns, 15 * MS); /* 5 of those done, and the 10 that run */
    end();
}

/* The figures of another GPU are not those of this one, and the first free row ends the list. */
Test(scheduler_times, figures_are_those_of_its_gpu)
{
    begin("rr", 2);
    for (unsigned i = 0; i < 2; i++) {
        figures[i].gpus[0].gpu = ORDINAL; /* the one before it */
        figures[i].gpus[0].busy_ns[GPU_COMPUTE] = 9 * MS;
        figures[i].gpus[1 + i].gpu = ORDINAL + 1;
        figures[i].gpus[1 + i].busy_ns[GPU_COMPUTE] = 4 * MS;
        member_asks(i, GPU_PHASE_KL);
    }
    turn_at(BEGAN);
    turn_at(BEGAN + 10 * MS);
    member_asks(0, GPU_PHASE_DFL);
    turn_at(BEGAN + 11 * MS);
    turn_at(BEGAN + 20 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], 4 * MS);
    cr_assert_eq(account_of(1).attained_ns[GPU_COMPUTE], 0u);
    end();
}

/* Demand is in steps of a percent, rounded up, and not told before 10 ms of kernels. */
Test(scheduler_times, demand_in_steps)
{
    static const struct {
        uint64_t used_us, filled_us;
        uint32_t ppm;
    } cases[] = {{9999, 5000, 0},         {10000, 5000, 500000}, {10000, 5001, 510000},
                 {10000, 0, 10000},       {10000, 100, 10000},   {10000, 101, 20000},
                 {10000, 10000, 1000000}, {40000, 9999, 250000}, {40000, 10001, 260000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin("rr", 1);
        member_asks(0, GPU_PHASE_KL);
        turn_at(BEGAN);
        struct gpu_figures *row = figures_set(0, cases[i].used_us * 1000, cases[i].used_us * 1000,
                                              cases[i].filled_us * 1000);
        row->copied_bytes[0] = 1000;
        row->copied_bytes[1] = 3000;
        turn_at(BEGAN + 50 * MS);
        cr_assert_eq(members[0].asks.demand_ppm, cases[i].ppm, "case %zu: %u", i,
                     members[0].asks.demand_ppm);
        cr_assert_eq(members[0].asks.bandwidth,
                     cases[i].ppm == 0 ? 0 : 4000u * GA_NS_PER_S / (cases[i].used_us * 1000));
        end();
    }
}

/* The demand is that of a second of kernels, at most; older demand fades. */
Test(scheduler_times, demand_is_of_late)
{
    begin("rr", 1);
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN);
    figures_set(0, 4000 * MS, 4000 * MS, 2000 * MS);
    turn_at(BEGAN + 4000 * MS);
    cr_assert_float_eq(members[0].recent_ns, 1e9, 1);
    cr_assert_float_eq(members[0].recent_filled_ns, 0.5e9, 1);
    figures_set(0, 5000 * MS, 5000 * MS, 3000 * MS);
    turn_at(BEGAN + 5000 * MS);
    cr_assert_float_eq(members[0].recent_ns, 1e9, 1);
    cr_assert_float_eq(members[0].recent_filled_ns, 0.75e9, 1);
    cr_assert_eq(members[0].asks.demand_ppm, 750000u);
    end();
}

/* Where others had work, too, it gets a part of what it has. */
Test(scheduler_times, time_that_is_shared_counts_in_part)
{
    struct time_share share = {.engine_ns = {60e6, 8e6}, .had_ns = {100 * MS, 10 * MS}};
    begin("rr", 1);
    member_asks(0, GPU_PHASE_KL);
    turn_at(BEGAN);
    struct gpu_figures *row = figures_set(0, 100 * MS, 100 * MS, 100 * MS);
    row->busy_ns[GPU_H2D] = 10 * MS;
    turn_at(BEGAN + 1000 * MS);
    scheduler_gpu_share(&members[0], &share); /* what it has been charged with by then stays */
    row->busy_ns[GPU_COMPUTE] = 120 * MS;
    turn_at(BEGAN + 1001 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], 120 * MS,
                 "all, as long as no part is "
                 "known");
    share.engine_ns[0] = 85e6; /* a quarter of the last 100 */
    share.had_ns[0] = 200 * MS;
    scheduler_gpu_share(&members[0], &share);
    row->busy_ns[GPU_COMPUTE] = 300 * MS;
    row->busy_ns[GPU_H2D] = 12 * MS;
    turn_at(BEGAN + 1002 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], 150 * MS); /* 100 and 25, and 25 */
    cr_assert_eq(account_of(0).attained_ns[GPU_H2D], 12 * MS);
    scheduler_gpu_share(&members[0], &share); /* no news */
    row->busy_ns[GPU_COMPUTE] = 400 * MS;
    turn_at(BEGAN + 1003 * MS);
    cr_assert_eq(account_of(0).attained_ns[GPU_COMPUTE], 175 * MS);
    end();
}
