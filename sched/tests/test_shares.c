/* SPDX-License-Identifier: Apache-2.0 */
/* The time that true fair share gives to programs that pause, beside long kernels
 * (docs/scheduling.md). */
#include <criterion/criterion.h>
#include <string.h>

#include "sched/tests/toy_gpu.h"

static struct toy_gpu toy;
static struct toy_app apps[2];
static struct toy_op ops[2][1];

/* TFS: a tenant that pauses gets its part of the time, in which its pauses count; and no tenant
 * gets more than its part while the other one wants the GPU. */
Test(shares, beside_long_kernels)
{
    static const struct {
        uint64_t pause_us, kernel_us, long_ms;
        uint32_t weight;
        double part; /* of the time, less its pauses */
    } cases[] = {{0, 5000, 130, 1, 0.5},        {200, 5000, 130, 1, 0.48},
                 {200, 5000, 130, 3, 0.72},     {1000, 5000, 100, 3, 0.62},
                 {20000, 34000, 130, 1, 0.31},  {20000, 34000, 1900, 1, 0.31},
                 {100000, 34000, 1900, 1, 0.12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sched_settings settings = sched_settings_default();
        memset(apps, 0, sizeof(apps));
        ops[0][0] =
            (struct toy_op){cases[i].pause_us * 1000, GPU_COMPUTE, cases[i].kernel_us * 1000};
        ops[1][0] = (struct toy_op){0, GPU_COMPUTE, cases[i].long_ms * TOY_MS};
        for (uint32_t k = 0; k < 2; k++) {
            apps[k] =
                (struct toy_app){.request = {.tenant = k, .weight = k == 0 ? cases[i].weight : 1},
                                 .ops = ops[k],
                                 .op_count = 1};
        }
        toy_begin(&toy, "tfs", &settings, apps, 2);
        toy_run(&toy, 60000 * TOY_MS);
        double got = (double)apps[0].attained / (60000.0 * TOY_MS);
        double other = (double)apps[1].attained / (60000.0 * TOY_MS);
        cr_expect_gt(got, 0.95 * cases[i].part, "case %zu: %f", i, got);
        cr_expect_gt(other, 0.95 / (cases[i].weight + 1), "case %zu: the other has %f", i, other);
        toy_end(&toy);
    }
}

/* TFS: one that uses less than a tenth of its time has its part of what it has alone, too, beside
 * kernels of which one, beyond a turn, lasts for eight of its pauses; and so has the other one. */
Test(shares, little_beside_long_kernels)
{
    static const struct {
        uint64_t pause_us, kernel_us, long_ms;
        uint32_t weight, long_weight;
    } cases[] = {
        {10000, 500, 130, 1, 1},    {50000, 1000, 500, 1, 1},    {20000, 1000, 1900, 1, 1},
        {100000, 5000, 1900, 1, 1}, {200000, 2000, 1900, 1, 1},  {100000, 5000, 1900, 3, 1},
        {100000, 5000, 1900, 1, 4}, {100000, 5000, 1900, 1, 20}, {1000000, 5000, 1900, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sched_settings settings = sched_settings_default();
        const double run_ns = 120000.0 * TOY_MS;
        memset(apps, 0, sizeof(apps));
        ops[0][0] =
            (struct toy_op){cases[i].pause_us * 1000, GPU_COMPUTE, cases[i].kernel_us * 1000};
        ops[1][0] = (struct toy_op){0, GPU_COMPUTE, cases[i].long_ms * TOY_MS};
        for (uint32_t k = 0; k < 2; k++) {
            apps[k] = (struct toy_app){
                .request = {.tenant = k, .weight = k == 0 ? cases[i].weight : cases[i].long_weight},
                .ops = ops[k],
                .op_count = 1};
        }
        toy_begin(&toy, "tfs", &settings, apps, 2);
        toy_run(&toy, (uint64_t)run_ns);
        double part = (double)cases[i].weight / (cases[i].weight + cases[i].long_weight);
        double alone =
            (double)cases[i].kernel_us / (double)(cases[i].kernel_us + cases[i].pause_us);
        double got = (double)apps[0].attained / run_ns, other = (double)apps[1].attained / run_ns;
        cr_expect_gt(got, 0.95 * part * alone, "case %zu: %f, not %f", i, got, part * alone);
        cr_expect_gt(other, 0.95 * (1 - part), "case %zu: the other has %f", i, other);
        toy_end(&toy);
    }
}

/* A session that waits for each of its kernels keeps its priority in the pauses. */
Test(shares, priority_is_kept_in_pauses)
{
    const struct sched_settings settings = sched_settings_default();
    memset(apps, 0, sizeof(apps));
    for (uint32_t k = 0; k < 2; k++) {
        ops[k][0] = (struct toy_op){200000, GPU_COMPUTE, k == 0 ? 5 * TOY_MS : 10 * TOY_MS};
        apps[k] = (struct toy_app){
            .request = {.tenant = k, .priority = k == 0 ? 10 : 0}, .ops = ops[k], .op_count = 1};
    }
    toy_begin(&toy, "priority", &settings, apps, 2);
    toy_run(&toy, 5000 * TOY_MS); /* who waits rises by one in each second */
    cr_expect_gt(apps[0].attained, 4700 * TOY_MS, "%lu", (unsigned long)apps[0].attained);
    cr_expect_lt(apps[1].attained, 100 * TOY_MS);
    toy_end(&toy);
}

/* LAS: the session that has attained least keeps its turn in short pauses, and in those longer than
 * `hold` once they are known. */
Test(shares, las_is_kept_in_pauses)
{
    static const uint64_t pauses_us[] = {200, 1000};
    const struct sched_settings settings = sched_settings_default();
    for (size_t i = 0; i < sizeof pauses_us / sizeof *pauses_us; i++) {
        memset(apps, 0, sizeof(apps));
        for (uint32_t k = 0; k < 2; k++) {
            ops[k][0] = (struct toy_op){pauses_us[i] * 1000, GPU_COMPUTE,
                                        k == 0 ? 5 * TOY_MS : 10 * TOY_MS};
            apps[k] = (struct toy_app){.request = {.tenant = k},
                                       .ops = ops[k],
                                       .op_count = 1,
                                       .arrives = k == 0 ? 1100 * TOY_MS : 0};
        }
        toy_begin(&toy, "las", &settings, apps, 2);
        toy_run(&toy, 1100 * TOY_MS);
        uint64_t before = apps[1].attained;
        toy_run(&toy, 1900 * TOY_MS); /* within a quantum */
        uint64_t most = 800 * TOY_MS * 5000 / (5000 + pauses_us[i]);
        cr_expect_gt(apps[0].attained, most * 95 / 100, "case %zu: %lu of %lu", i,
                     (unsigned long)apps[0].attained, (unsigned long)most);
        cr_expect_lt(apps[1].attained - before, 40 * TOY_MS, "case %zu: %lu", i,
                     (unsigned long)(apps[1].attained - before));
        toy_end(&toy);
    }
}

/* The time of the tenant with kernels of `own_ms`, with one session or with a new one for each
 * kernel, beside one session of another tenant, in 100 s: that of the first, and of both. */
static void renewing(const char *policy, bool renews, uint64_t own_ms, uint64_t other_ms,
                     double got[2])
{
    const struct sched_settings settings = sched_settings_default();
    const uint64_t run_ns = 100000 * TOY_MS;
    memset(apps, 0, sizeof(apps));
    for (uint32_t k = 0; k < 2; k++) {
        ops[k][0] = (struct toy_op){0, GPU_COMPUTE, (k == 0 ? own_ms : other_ms) * TOY_MS};
        apps[k] = (struct toy_app){.request = {.tenant = k, .weight = 1},
                                   .ops = ops[k],
                                   .op_count = 1,
                                   .renews = renews && k == 0};
    }
    toy_begin(&toy, policy, &settings, apps, 2);
    toy_run(&toy, run_ns);
    for (uint32_t k = 0; k < 2; k++) {
        got[k] = (double)apps[k].attained / (double)run_ns;
    }
    toy_end(&toy);
}

static const uint64_t renewed_ms[][2] = {{34, 34}, {34, 130}, {34, 1900}, {1900, 34}, {1900, 1900}};

/* Nobody gets more by opening a new session for each request. */
Test(shares, new_sessions_gain_nothing)
{
    const struct sched_policy *policy = NULL;
    for (size_t p = 0; (policy = sched_policy_at(p)) != NULL; p++) {
        for (size_t i = 0; i < sizeof renewed_ms / sizeof *renewed_ms; i++) {
            const uint64_t *ms = renewed_ms[i];
            double stays[2], renews[2];
            if (strcmp(sched_policy_name(policy), "ps_bandwidth") == 0) {
                continue; /* as ps */
            }
            renewing(sched_policy_name(policy), false, ms[0], ms[1], stays);
            renewing(sched_policy_name(policy), true, ms[0], ms[1], renews);
            cr_expect_lt(renews[0], stays[0] + 0.02, "%s, case %zu: %f, not %f",
                         sched_policy_name(policy), i, renews[0], stays[0]);
            cr_expect_gt(renews[1], stays[1] - 0.02, "%s, case %zu: the other has %f, not %f",
                         sched_policy_name(policy), i, renews[1], stays[1]);
        }
    }
}

/* And under those that look at what tenants have attained each has its half, give or take a
 * tenth. */
Test(shares, new_sessions_leave_others_their_part)
{
    static const char *const policies[] = {"las", "las_fcfs", "las_fill", "tfs", "groups"};
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        for (size_t i = 0; i < sizeof renewed_ms / sizeof *renewed_ms; i++) {
            double got[2];
            renewing(policies[p], true, renewed_ms[i][0], renewed_ms[i][1], got);
            for (uint32_t k = 0; k < 2; k++) {
                cr_expect_float_eq(got[k], 0.5, 0.06, "%s, case %zu: %f", policies[p], i, got[k]);
            }
        }
    }
}
