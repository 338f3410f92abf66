/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose outcome is known. */
#include "sim/sim.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/timeline.h"
#include "sim/output.h"

struct outcome {
    struct sim_scenario scenario;
    struct sim_result result;
};

static void fail(void *user, const char *line)
{
    (void)user;
    cr_assert_fail("%s", line);
}

static void outcome_of(struct outcome *o, uint64_t seed, const char *text, const char *const *set,
                       size_t count)
{
    const struct sim_settings settings = {set, count};
    const struct sim_options options = {.seed = seed};
    char why[300] = "";
    cr_assert_eq(sim_scenario_read("t", text, &settings, &o->scenario, fail, NULL), GA_OK);
    cr_assert_eq(sim_run(&o->scenario, &options, &o->result, why, sizeof why), GA_OK, "%s", why);
}

static void outcome_free(struct outcome *o)
{
    sim_result_free(&o->result);
    sim_scenario_free(&o->scenario);
}

#define SET(...)                                                                                   \
    (const char *const[]){__VA_ARGS__}, sizeof(const char *const[]){__VA_ARGS__} / sizeof(char *)

/* Two kernels of 20 ms at once: one waits for the other. */
Test(sim, operations_wait_for_each_other)
{
    static const char text[] = "[run]\nisolation = packed\nwarmup_percent = 0\n[gpu.0]\n"
                               "model = c2050\n[app.X]\nruntime = 20ms\ngpu_share = 1\n"
                               "rounds = 1\n[stream.X]\napp = X\narrivals = once\n"
                               "requests = 1\ncount = 2\n";
    struct outcome o;
    outcome_of(&o, 1, text, SET("run.policy=rr"));
    cr_assert_eq(o.result.streams[0].operations, 2);
    cr_assert_float_eq(o.result.streams[0].operation_wait_mean_ns / 1e6, 10, 0.01);
    double p99_ms = o.result.streams[0].operation_wait_p99_ns / 1e6;
    cr_assert(p99_ms >= 20 && p99_ms < 22.5, "%f", p99_ms);
    outcome_free(&o);
}

/* One kernel of 20 ms: its call takes 10 ms, or between 5 and 15, and its end is seen within 4. */
Test(sim, calls_take_time)
{
    static const char text[] = "[run]\nisolation = packed\nwarmup_percent = 0\nforward = 10ms\n"
                               "[gpu.0]\nmodel = c2050\n[app.X]\nruntime = 20ms\ngpu_share = 1\n"
                               "rounds = 1\n[stream.X]\napp = X\narrivals = once\nrequests = 1\n";
    struct outcome o;
    double least = 100, most = 0, late = 0;
    outcome_of(&o, 1, text, SET("run.gate=0s"));
    cr_assert_float_eq(o.result.streams[0].completion_mean_ns / 1e6, 30, 0.01);
    outcome_free(&o);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        outcome_of(&o, seed, text, SET("run.forward_spread=50"));
        double ms = o.result.streams[0].completion_mean_ns / 1e6;
        least = fmin(least, ms);
        most = fmax(most, ms);
        outcome_free(&o);
        outcome_of(&o, seed, text, SET("run.late_percent=50", "run.late_most=4ms"));
        late = fmax(late, o.result.streams[0].completion_mean_ns / 1e6);
        outcome_free(&o);
    }
    cr_assert(least >= 25 && least < 28 && most > 32 && most <= 35.01, "%f %f", least, most);
    cr_assert(late > 32 && late <= 34.01, "%f", late);
}

/* X has two copies of 2 ms, 5 ms apart; Y has a kernel of 40 ms. X keeps its turn of 20 ms between
 * its copies if the first one's end is seen late; otherwise Y's kernel comes between them. */
Test(sim, whose_end_is_seen_late_keeps_his_turn)
{
    static const char text[] = "[run]\nisolation = app\npolicy = rr\nwarmup_percent = 0\n"
                               "forward = 5ms\n[policy]\nslice = 20ms\nhold = 1ms\n"
                               "[node.0]\ncpus = 8\n[gpu.0]\nmodel = c2050\ncontext_time = 0s\n"
                               "[app.X]\nruntime = 4ms\ngpu_share = 1\ntransfer_share = 1\n"
                               "h2d_part = 0.5\nrounds = 1\n"
                               "[app.Y]\nruntime = 40ms\ngpu_share = 1\nrounds = 1\n"
                               "[stream.X]\napp = X\narrivals = once\nrequests = 1\n"
                               "[stream.Y]\napp = Y\narrivals = once\nrequests = 1\nstart = 1ms\n";
    struct outcome o;
    outcome_of(&o, 1, text, SET("run.seen=0s"));
    const double loses_ms = o.result.streams[0].completion_mean_ns / 1e6;
    outcome_free(&o);
    outcome_of(&o, 1, text, SET("run.seen=5ms"));
    const double keeps_ms = o.result.streams[0].completion_mean_ns / 1e6;
    outcome_free(&o);
    cr_assert(loses_ms > 50 && keeps_ms < 20, "%f %f", loses_ms, keeps_ms);
}

/* Three rounds of a copy of 10 ms, a kernel of 20 ms, and a copy back of 10 ms. */
static const char rounds[] = "[run]\n"
                             "isolation = packed\n"
                             "pinned = no\n"
                             "warmup_percent = 0\n"
                             "[gpu.0]\n"
                             "model = c2050\n"
                             "[app.X]\n"
                             "runtime = 120ms\n"
                             "gpu_share = 1\n"
                             "transfer_share = 0.5\n"
                             "h2d_part = 0.5\n"
                             "rounds = 3\n"
                             "[stream.X]\n"
                             "app = X\n"
                             "arrivals = once\n"
                             "requests = 1\n";

static double makespan_ms(const char *policy, const char *count, const char *runtime,
                          const char *transfers)
{
    struct outcome o;
    outcome_of(&o, 1, rounds, SET(policy, count, runtime, transfers));
    double ms = (double)o.result.end_ns / 1e6;
    outcome_free(&o);
    return ms;
}

/* A round takes 40 ms, of which 20 for copies; of pinned memory they take half. */
Test(sim, small_copies_to_a_gpu_are_not_pinned)
{
    static const struct {
        const char *pinned, *most;
        double ms;
    } cases[] = {{"run.pinned=no", "run.unpinned_most=0", 120},
                 {"run.pinned=yes", "run.unpinned_most=0", 90},
                 {"run.pinned=yes", "run.unpinned_most=1000", 90},
                 {"run.pinned=yes", "run.unpinned_most=4000000000", 105}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ms = makespan_ms(cases[i].pinned, cases[i].most, "run.gate=0s", "run.seen=0s");
        cr_assert_float_eq(ms, cases[i].ms, 0.2, "%zu: %f", i, ms);
    }
}

/* Kernels have a launch of 3 us besides. */
#define NEAR_MS(ms, expected) cr_assert_float_eq((ms), (expected), 0.1, "%f", (ms))

Test(sim, overlap_has_the_makespans_that_follow_from_it)
{
#define LONG_KERNELS  "app.X.runtime=120ms", "app.X.transfer_share=0.5"
#define EQUAL_KERNELS "app.X.runtime=90ms", "app.X.transfer_share=0.66666666667"
    NEAR_MS(makespan_ms("run.policy=ps", "stream.X.count=1", LONG_KERNELS), 120);
    NEAR_MS(makespan_ms("run.policy=ps", "stream.X.count=2", LONG_KERNELS), 140);
    NEAR_MS(makespan_ms("run.policy=ps", "stream.X.count=3", LONG_KERNELS), 200);
    NEAR_MS(makespan_ms("run.policy=rr", "stream.X.count=2", LONG_KERNELS), 240);
    NEAR_MS(makespan_ms("run.policy=rr", "stream.X.count=3", LONG_KERNELS), 360);
    NEAR_MS(makespan_ms("run.policy=ps", "stream.X.count=2", EQUAL_KERNELS), 100);
    NEAR_MS(makespan_ms("run.policy=ps", "stream.X.count=3", EQUAL_KERNELS), 110);
    NEAR_MS(makespan_ms("run.policy=rr", "stream.X.count=3", EQUAL_KERNELS), 270);
}

Test(sim, an_application_alone_takes_its_time_alone)
{
    static const char *const tables[] = {"app.X.table=DC", "app.X.table=MC", "app.X.table=GA"};
    static const char text[] = "[run]\nwarmup_percent = 0\n[gpu.0]\nmodel = c2050\n[app.X]\n"
                               "rounds = 100\n[stream.X]\napp = X\narrivals = closed\n"
                               "requests = 5\n";
    for (size_t i = 0; i < 3; i++) {
        struct outcome o;
        outcome_of(&o, 1, text, SET(tables[i]));
        cr_assert_eq(o.result.streams[0].counted, 5);
        cr_assert_float_eq(o.result.metrics.antt, 1, 1e-6, "%s: %f", tables[i],
                           o.result.metrics.antt);
        /* The table's run time, but for contexts, launches, and copies shorter than a latency. */
        double seconds = o.result.streams[0].completion_mean_ns / 1e9 - 0.15;
        double table = i == 0 ? 30 : 6;
        cr_assert_float_eq(seconds, table, table * 1e-3, "%s: %f", tables[i], seconds);
        outcome_free(&o);
    }
}

static const char pair[] = "[run]\n"
                           "isolation = app\n"
                           "[gpu.0]\n"
                           "model = c2050\n"
                           "[app.MM]\n"
                           "table = MM\n"
                           "runtime = 3s\n"
                           "[app.MC]\n"
                           "table = MC\n"
                           "runtime = 1s\n"
                           "[stream.MM]\n"
                           "app = MM\n"
                           "alpha = 1.5\n"
                           "requests = 20\n"
                           "[stream.MC]\n"
                           "app = MC\n"
                           "alpha = 2.5\n"
                           "requests = 40\n";

static const char *const policies[] = {"run.policy=none",   "run.policy=rr",      "run.policy=las",
                                       "run.policy=fs",     "run.policy=tfs",     "run.policy=ps",
                                       "run.policy=groups", "run.policy=priority"};
#define POLICIES (sizeof policies / sizeof policies[0])

/* The utilisation law: no policy changes the work; and Little's law. */
Test(sim, work_is_the_same_under_each_policy)
{
    uint64_t busy[GPU_ENGINES] = {0};
    for (size_t i = 0; i < POLICIES * 2; i++) {
        struct outcome o;
        outcome_of(&o, 3, pair,
                   SET(policies[i / 2], i % 2 == 0 ? "run.isolation=app" : "run.isolation=packed",
                       "run.pinned=no"));
        for (int e = 0; e < GPU_ENGINES; e++) {
            double share = (double)o.result.gpus[0].busy_ns[e] / (double)busy[e];
            cr_assert(i == 0 || fabs(share - 1) < 1e-5, "%s: engine %d: %f", policies[i / 2], e,
                      share);
            busy[e] = i == 0 ? o.result.gpus[0].busy_ns[e] : busy[e];
        }
        cr_assert_eq(o.result.streams[0].requests, 20);
        cr_assert_eq(o.result.streams[1].requests, 40);
        cr_assert_float_eq(o.result.requests_ns / o.result.completions_ns, 1, 1e-9);
        outcome_free(&o);
    }
}

static char *json_of(uint64_t seed, const char *policy)
{
    struct outcome o;
    char *text = NULL;
    size_t size;
    outcome_of(&o, seed, pair, SET(policy));
    FILE *out = open_memstream(&text, &size);
    sim_output_json(out, &o.scenario, &o.result, NULL, true);
    fclose(out);
    outcome_free(&o);
    return text;
}

Test(sim, the_same_seed_gives_the_same_bytes)
{
    for (size_t i = 0; i < POLICIES; i++) {
        char *one = json_of(5, policies[i]), *again = json_of(5, policies[i]);
        char *other = json_of(6, policies[i]);
        cr_assert_str_eq(one, again);
        cr_assert_str_neq(one, other);
        free(one);
        free(again);
        free(other);
    }
}

/* Common random numbers: what a stream draws does not depend on the others or on the policy. */
Test(sim, arrivals_are_those_of_the_seed_alone)
{
    struct sim_trace trace, other;
    struct outcome o;
    char why[300] = "";
    outcome_of(&o, 1, pair, SET("run.policy=none"));
    cr_assert_eq(sim_draw_trace(&o.scenario, 9, &trace, why, sizeof why), GA_OK, "%s", why);
    outcome_free(&o);
    outcome_of(&o, 1, pair, SET("run.policy=tfs", "stream.MM.requests=3", "stream.MM.alpha=7"));
    cr_assert_eq(sim_draw_trace(&o.scenario, 9, &other, why, sizeof why), GA_OK, "%s", why);
    outcome_free(&o);
    cr_assert_eq(trace.request_count, 60);
    cr_assert_eq(other.request_count, 43);
    for (uint32_t i = 0; i < 40; i++) {
        cr_assert_eq(trace.requests[20 + i].arrival_ns, other.requests[3 + i].arrival_ns);
    }
    sim_trace_free(&trace);
    sim_trace_free(&other);
}

static const char computing[] = "[run]\nisolation = packed\nwarmup_percent = 0\n[node.0]\n"
                                "cpus = 2\nthreads = 0\n[gpu.0]\nmodel = c2050\n[app.X]\n"
                                "runtime = 1s\ngpu_share = 0\nrounds = 4\n[stream.X]\napp = X\n"
                                "arrivals = once\nrequests = 6\n";

Test(sim, processors_and_threads_are_shared)
{
    struct outcome o;
    outcome_of(&o, 1, computing, SET("run.bins=1")); /* six share two processors evenly */
    cr_assert_float_eq(o.result.streams[0].completion_mean_ns / 1e9, 3, 1e-6);
    outcome_free(&o);
    outcome_of(&o, 1, computing, SET("node.0.threads=2")); /* in pairs: 1, 1, 2, 2, 3, 3 */
    cr_assert_float_eq(o.result.streams[0].completion_mean_ns / 1e9, 2, 1e-6);
    cr_assert_float_eq(o.result.streams[0].wait_mean_ns / 1e9, 1, 1e-6);
    outcome_free(&o);
    outcome_of(&o, 1, computing, SET("node.0.threads=3")); /* 1.5 each time */
    cr_assert_float_eq(o.result.streams[0].completion_mean_ns / 1e9, 2.25, 1e-6);
    outcome_free(&o);
}

static const char remote[] = "[run]\nisolation = packed\nwarmup_percent = 0\nbalance = fixed\n"
                             "[node.0]\nlink_mbs = 100\nlink_latency = 0s\n[node.1]\n"
                             "link_mbs = 200\n[gpu.0]\nnode = 0\n[gpu.1]\nnode = 1\n[app.X]\n"
                             "runtime = 1s\ngpu_share = 1\ntransfer_share = 1\nh2d_part = 1\n"
                             "rounds = 1\n[stream.X]\napp = X\narrivals = once\nrequests = 1\n";

Test(sim, bytes_go_over_the_slower_link)
{
    double ms[3];
    for (int i = 0; i < 3; i++) {
        struct outcome o;
        outcome_of(&o, 1, remote,
                   SET(i == 0 ? "stream.X.gpu=0" : "stream.X.gpu=1", "run.pinned=no",
                       i == 2 ? "node.0.link_mbs=0" : "node.0.link_mbs=100",
                       i == 2 ? "node.1.link_mbs=0" : "node.1.link_mbs=200"));
        ms[i] = (double)o.result.end_ns / 1e6;
        outcome_free(&o);
    }
    cr_assert_float_eq(ms[0], 1000, 0.01, "%f", ms[0]);
    /* 3.12 GB/s for 1 s, less the latency, at 100 MB/s */
    cr_assert_float_eq(ms[1], 1000 + 31200 * (1 - 1e-5), 1, "%f", ms[1]);
    cr_assert_float_eq(ms[2], 1000, 0.01, "%f", ms[2]); /* ideal */
}

Test(sim, identical_tenants_have_equal_shares)
{
    static const char text[] = "[run]\nuntil = 60s\n[gpu.0]\nmodel = c2050\n[app.X]\ntable = MM\n"
                               "runtime = 2s\n[stream.A]\napp = X\narrivals = closed\n"
                               "requests = 0\n[stream.B]\napp = X\narrivals = closed\n"
                               "requests = 0\n";
    for (size_t i = 0; i < POLICIES; i++) {
        struct outcome o;
        outcome_of(&o, 1, text, SET(policies[i]));
        cr_assert(o.result.metrics.contended_share > 0.5);
        cr_assert_gt(o.result.metrics.jain_share, 0.99, "%s: %f", policies[i],
                     o.result.metrics.jain_share);
        outcome_free(&o);
    }
}

Test(sim, use_of_bins_is_the_busy_time)
{
    struct outcome o;
    outcome_of(&o, 2, pair, SET("run.bins=37"));
    cr_assert(o.result.bin_count <= 37 && o.result.bin_count > 18);
    for (uint32_t e = 0; e < GPU_ENGINES; e++) {
        double sum = 0;
        for (uint32_t b = 0; b < o.result.bin_count; b++) {
            double use = (double)o.result.gpus[0].use[b * GPU_ENGINES + e];
            cr_assert(use >= 0 && use < 1.001, "%f", use);
            sum += use * (double)o.result.bin_ns;
        }
        cr_assert_float_eq(sum / (double)o.result.gpus[0].busy_ns[e], 1, 1e-3);
    }
    double service = 0, busy = 0;
    for (uint32_t t = 0; t < o.result.tenant_count; t++) {
        service += o.result.tenants[t].service_ns;
    }
    for (int e = 0; e < GPU_ENGINES; e++) {
        busy += (double)o.result.gpus[0].busy_ns[e];
    }
    cr_assert_float_eq(service / busy, 1, 2e-3); /* but for launches */
    outcome_free(&o);
}

Test(sim, jain_is_1_for_equals_and_1_of_n_for_one)
{
    const double equal[] = {3, 3, 3}, one[] = {5, 0, 0, 0}, two[] = {490, 350};
    cr_assert_float_eq(sim_jain(equal, 3), 1, 1e-12);
    cr_assert_float_eq(sim_jain(one, 4), 0.25, 1e-12);
    cr_assert_float_eq(sim_jain(two, 2), 0.972973, 1e-6);
}
