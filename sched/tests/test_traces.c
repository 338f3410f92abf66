/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions of each policy as one number: all decisions and accounts in runs with applications,
 * settings and GPUs of every kind. The other tests say what is right; this one finds that something
 * has changed, down to a nanosecond. If you change a policy on purpose, check that the numbers of
 * the others stay, and write the new one here: the test prints it. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "sched/tests/toy_gpu.h"

#define RUNS   12u
#define PIECES 10u /* of a run; between them something changes */

static const struct {
    const char *policy;
    uint64_t trace;
} traces[] = {
    {"none", 0x1f988aa590eae339},         {"rr", 0x8231c94561f97149},
    {"las", 0x1b57fe0c80d93410},          {"las_fcfs", 0x526bac20210ccf9e},
    {"las_fill", 0xeb6945a22b128439},     {"fs", 0x693d7e7606661a31},
    {"tfs", 0xee0e66b0c16e8468},          {"ps", 0x1276a66abb07a187},
    {"ps_bandwidth", 0x71db8681393d9535}, {"groups", 0x739f11ae3ed415d9},
    {"priority", 0xa5dbe4e106213038},     {"latency", 0x0d4639ddfab6231b},
    {"auto", 0xf2d40ad0cf003e27},
};

static struct toy_gpu toy;
static struct toy_app apps[8];
static struct toy_op ops[8][4];

/* Pseudo-random (xorshift), so that each run is the same. */
static uint64_t seed;

static uint64_t below(uint64_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % bound;
}

static uint64_t one_of(uint64_t chances, uint64_t value)
{
    return below(chances) == 0 ? value : 0;
}

static struct sched_request any_request(uint64_t tenant)
{
    return (struct sched_request){.tenant = tenant,
                                  .weight = 1 + (uint32_t)below(4),
                                  .priority = (uint32_t)below(4),
                                  .cap_percent = (uint32_t)one_of(4, 20 + below(60)),
                                  .throttle_percent = (uint32_t)one_of(5, 20 + below(60)),
                                  .idle_ns = one_of(3, below(2 * TOY_MS)),
                                  .demand_ppm = (uint32_t)below(1000001),
                                  .bandwidth = below(80),
                                  .goal_ns = one_of(4, (1 + below(20)) * TOY_MS)};
}

static uint32_t any_apps(void)
{
    uint32_t count = 3 + (uint32_t)below(6);
    memset(apps, 0, sizeof(apps));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op_count = 1 + (uint32_t)below(4);
        for (uint32_t k = 0; k < op_count; k++) {
            ops[i][k] =
                (struct toy_op){.pause_ns = one_of(2, below(6 * TOY_MS)),
                                .engine = (enum gpu_engine)below(GPU_ENGINES),
                                .ns = 10000 + below(below(3) == 0 ? 30 * TOY_MS : 3 * TOY_MS)};
        }
        apps[i] = (struct toy_app){.request = any_request(below(4)),
                                   .ops = ops[i],
                                   .op_count = op_count,
                                   .rounds = (uint32_t)one_of(2, 1 + below(20)),
                                   .arrives = below(150 * TOY_MS)};
    }
    return count;
}

/* Short times, so that a run comes to all of them. */
static struct sched_settings any_settings(void)
{
    struct sched_settings settings = sched_settings_default();
    settings.slice_ns = (2 + below(9)) * TOY_MS;
    settings.quantum_ns = (20 + below(80)) * TOY_MS;
    settings.epoch_ns = (20 + below(80)) * TOY_MS;
    settings.horizon_ns = TOY_MS;
    settings.hold_ns = below(4) * TOY_MS / 3;
    settings.group_slice_ns = (10 + below(40)) * TOY_MS;
    settings.group_excess_percent = (uint32_t)below(40);
    settings.aging_ns = one_of(2, 20 * TOY_MS);
    settings.passed_max = 1 + (uint32_t)below(5);
    settings.las_passed_max = (uint32_t)below(8);
    settings.cap_window_ns = (20 + below(80)) * TOY_MS;
    settings.bandwidth_percent = 50 + (uint32_t)below(100);
    settings.batch_percent = (uint32_t)below(40);
    return settings;
}

/* Something changes: what an application asks for, its account, or the settings. */
static void change(const char *policy, uint32_t count)
{
    struct toy_app *app = &apps[below(count)];
    const struct sched_settings settings = any_settings();
    uint64_t what = below(5);
    if (what == 0) {
        sched_change(toy.sched, sched_policy_find(policy), &settings, toy.now);
    } else if (!app->joined || app->done) {
        return;
    } else if (what == 1) {
        app->request = any_request(app->request.tenant);
    } else if (what == 2) {
        sched_charge_kernels(toy.sched, app->slot, 0, (double)below(4 * TOY_MS) - 2e6, toy.now);
    } else {
        sched_charge(toy.sched, app->slot, (enum gpu_engine)below(GPU_ENGINES), below(9 * TOY_MS),
                     toy.now);
    }
}

static uint64_t trace_of(const char *policy)
{
    uint64_t trace = 0;
    seed = 20;
    for (uint32_t run = 0; run < RUNS; run++) {
        const struct sched_settings settings = any_settings();
        const struct sched_gpu gpu = {.copy_engines = 1 + run / 2 % 2,
                                      .bandwidth = 100,
                                      .side_by_side = run % 2 == 0,
                                      .copies_overlap = run % 3 != 0,
                                      .slices = run % 4 == 3};
        uint32_t count = any_apps();
        toy_begin_on(&toy, &gpu, policy, &settings, apps, count);
        for (uint64_t piece = 1; piece <= PIECES; piece++) {
            toy_run(&toy, piece * 100 * TOY_MS);
            change(policy, count);
        }
        trace = trace * 31 + toy.trace;
        toy_end(&toy);
    }
    return trace;
}

Test(traces, policies_decide_what_they_did)
{
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        uint64_t trace = trace_of(traces[i].policy);
        cr_expect_eq(trace, traces[i].trace, "{\"%s\", 0x%016" PRIx64 "},", traces[i].policy,
                     trace);
    }
    cr_assert_not_null(sched_policy_at(sizeof traces / sizeof *traces - 1));
    cr_assert_null(sched_policy_at(sizeof traces / sizeof *traces), "each policy has a number");
}
