/* SPDX-License-Identifier: Apache-2.0 */
/* What true fair share gives to programs that pause, beside long kernels (docs/scheduling.md). */
#include <criterion/criterion.h>
#include <string.h>

#include "sched/tests/toy_gpu.h"

static struct toy_gpu toy;
static struct toy_app apps[2];
static struct toy_op ops[2][1];

/* TFS: who pauses gets his part of the time, of which his pauses take theirs; and nobody gets more
 * than his part of the time while the other one wants the GPU. */
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
            (struct toy_op){cases[i].pause_us * 1000, SCHED_COMPUTE, cases[i].kernel_us * 1000};
        ops[1][0] = (struct toy_op){0, SCHED_COMPUTE, cases[i].long_ms * TOY_MS};
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

/* A session that waits for each of its kernels keeps its priority in the pauses. */
Test(shares, priority_is_kept_in_pauses)
{
    const struct sched_settings settings = sched_settings_default();
    memset(apps, 0, sizeof(apps));
    for (uint32_t k = 0; k < 2; k++) {
        ops[k][0] = (struct toy_op){200000, SCHED_COMPUTE, k == 0 ? 5 * TOY_MS : 10 * TOY_MS};
        apps[k] = (struct toy_app){.request = {.tenant = k, .priority = k == 0 ? 10 : 0},
                                   .ops = ops[k],
                                   .op_count = 1};
    }
    toy_begin(&toy, "priority", &settings, apps, 2);
    toy_run(&toy, 5000 * TOY_MS); /* who waits rises by one in each second */
    cr_expect_gt(apps[0].attained, 4700 * TOY_MS, "%lu", (unsigned long)apps[0].attained);
    cr_expect_lt(apps[1].attained, 100 * TOY_MS);
    toy_end(&toy);
}
