/* SPDX-License-Identifier: Apache-2.0 */
/* Properties that hold for policies whatever the applications do, tried with random ones. The toy
 * GPU itself checks that nobody begins without being awake, that no work waits for an idle GPU, and
 * that a decision that is asked for twice is the same. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sched/tests/toy_gpu.h"

#define MIXES 40u

/* Pseudo-random (xorshift), so that each run is the same. */
static uint64_t state;

static uint64_t below(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

static struct toy_gpu toy;
static struct toy_app apps[TOY_APPS_MAX];
static struct toy_op ops[TOY_APPS_MAX][4];

/* Applications that always have one kernel of a length of their own, each of a tenant of its
 * own. */
static uint32_t backlogged(uint32_t most)
{
    uint32_t count = 2 + (uint32_t)below(most - 1);
    memset(apps, 0, sizeof(apps));
    for (uint32_t i = 0; i < count; i++) {
        ops[i][0] = (struct toy_op){0, GPU_COMPUTE, 100000 * (1 + below(1500))};
        apps[i] = (struct toy_app){.request = {.tenant = 100 + i, .weight = 1 + (uint32_t)below(9)},
                                   .ops = ops[i],
                                   .op_count = 1};
    }
    return count;
}

/* Applications with pauses, copies and kernels, which come and go. */
static uint32_t anything(uint32_t rounds)
{
    uint32_t count = 2 + (uint32_t)below(10);
    memset(apps, 0, sizeof(apps));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op_count = 1 + (uint32_t)below(4);
        for (uint32_t k = 0; k < op_count; k++) {
            ops[i][k] = (struct toy_op){.pause_ns = below(3) == 0 ? below(5 * TOY_MS) : 0,
                                        .engine = (enum gpu_engine)below(GPU_ENGINES),
                                        .ns = 10000 + below(8 * TOY_MS)};
        }
        apps[i] =
            (struct toy_app){.request = {.tenant = (uint32_t)below(4),
                                         .weight = 1 + (uint32_t)below(4),
                                         .priority = (uint32_t)below(4),
                                         .demand_ppm = (uint32_t)below(1000001),
                                         .bandwidth = below(80),
                                         .goal_ns = below(3) == 0 ? (1 + below(20)) * TOY_MS : 0},
                             .ops = ops[i],
                             .op_count = op_count,
                             .rounds = rounds == 0 ? 0 : 1 + (uint32_t)below(rounds),
                             .arrives = below(200 * TOY_MS)};
    }
    return count;
}

static bool one_at_a_time(const char *policy)
{
    const char *names[] = {"rr", "las", "las_fcfs", "fs", "tfs", "priority", "latency"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(policy, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* TFS: any two tenants that always have work differ, in service by weight, by less than an
 * operation of each and the epoch that goes on. */
Test(properties, tfs_shares)
{
    struct sched_settings settings = sched_settings_default();
    state = 1;
    for (uint32_t mix = 0; mix < MIXES; mix++) {
        uint32_t count = backlogged(5);
        double weights = 0;
        for (uint32_t i = 0; i < count; i++) {
            weights += apps[i].request.weight;
        }
        toy_begin(&toy, "tfs", &settings, apps, count);
        toy_run(&toy, 20000 * TOY_MS);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t k = 0; k < i; k++) {
                double a = (double)apps[i].attained / apps[i].request.weight;
                double b = (double)apps[k].attained / apps[k].request.weight;
                double bound = (double)ops[i][0].ns / apps[i].request.weight +
                               (double)ops[k][0].ns / apps[k].request.weight +
                               (double)settings.epoch_ns / weights;
                cr_assert_lt(a - b, bound, "mix %u", mix);
                cr_assert_lt(b - a, bound, "mix %u", mix);
            }
        }
        cr_assert_eq(toy.idle_ns, 0);
        cr_assert_eq(toy.awake_most, 1);
        toy_end(&toy);
    }
}

/* FS gives what TFS gives where no operation is longer than a turn can hold. */
Test(properties, fs_shares_short_operations)
{
    struct sched_settings settings = sched_settings_default();
    state = 2;
    uint32_t count = backlogged(5);
    double weights = 0;
    for (uint32_t i = 0; i < count; i++) {
        ops[i][0].ns = 10000;
        weights += apps[i].request.weight;
    }
    toy_begin(&toy, "fs", &settings, apps, count);
    toy_run(&toy, 5000 * TOY_MS);
    for (uint32_t i = 0; i < count; i++) {
        double share = (double)apps[i].attained / (5000.0 * (double)TOY_MS);
        cr_assert_float_eq(share, apps[i].request.weight / weights, 0.01);
    }
    toy_end(&toy);
}

/* All that is begun ends, under each policy; GPU time is what the operations sum up to; where work
 * waits, the GPU is idle at most for the pauses for which turns are held. */
Test(properties, work_ends)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_policy *policy = NULL;
    for (size_t p = 0; (policy = sched_policy_at(p)) != NULL; p++) {
        const char *name = sched_policy_name(policy);
        state = 3;
        for (uint32_t mix = 0; mix < MIXES; mix++) {
            uint32_t count = anything(30);
            toy_begin(&toy, name, &settings, apps, count);
            toy_run(&toy, 1000000 * TOY_MS);
            uint64_t operations = 0;
            for (uint32_t i = 0; i < count; i++) {
                uint64_t all = 0;
                for (uint32_t k = 0; k < apps[i].op_count; k++) {
                    all += ops[i][k].ns;
                }
                cr_assert(apps[i].done, "%s, mix %u: %c has not ended", name, mix, 'A' + i);
                cr_assert_eq(apps[i].attained, all * apps[i].rounds);
                operations += apps[i].rounds * apps[i].op_count;
            }
            uint64_t held = operations * settings.epoch_ns / 20;
            cr_assert_leq(toy.idle_ns, toy_may_wait(name) ? toy.now : held, "%s, mix %u", name,
                          mix);
            cr_assert(toy.awake_most == 1 || !one_at_a_time(name), "%s wakes several", name);
            toy_end(&toy);
        }
    }
}

/* For how long an application may wait at most, by the headers of the policies. */
static uint64_t wait_bound(const char *policy, const struct sched_settings *settings,
                           uint32_t count, uint64_t longest)
{
    uint64_t turn = settings->slice_ns + longest + settings->hold_ns;
    uint64_t epoch = settings->epoch_ns + count * (longest + settings->hold_ns);
    if (strcmp(policy, "las") == 0) {
        return (settings->las_passed_max + count) * turn;
    }
    if (strcmp(policy, "las_fcfs") == 0 || strcmp(policy, "las_fill") == 0) {
        return ((uint64_t)settings->las_passed_max * 10 + count) * turn;
    }
    if (strcmp(policy, "fs") == 0) { /* all may be of one tenant, in which sessions take turns */
        return count * epoch;
    }
    if (strcmp(policy, "tfs") == 0) { /* the least part of an epoch is 1 of 4 * 4 */
        return (1 + longest * 16 / settings->epoch_ns) * count * epoch;
    }
    if (strcmp(policy, "groups") == 0) {
        return (count + 1) * (settings->group_slice_ns + longest + settings->hold_ns);
    }
    if (strcmp(policy, "priority") == 0) {
        return 5 * settings->aging_ns + count * turn;
    }
    if (strcmp(policy, "auto") == 0) { /* which may be any of these */
        return wait_bound("latency", settings, count, longest) +
               wait_bound("las_fill", settings, count, longest);
    }
    if (strcmp(policy, "latency") == 0) { /* batch; who has a goal waits less */
        return count *
               (settings->horizon_ns * (100 - settings->batch_percent) / settings->batch_percent +
                2 * turn);
    }
    return (settings->passed_max + count + 1) * turn;
}

/* Nobody waits longer than the bound of the policy. */
Test(properties, nobody_starves)
{
    struct sched_settings settings = sched_settings_default();
    settings.aging_ns = 50 * TOY_MS;
    settings.las_passed_max = 10; /* such waits pass within a run */
    const struct sched_policy *policy = NULL;
    for (size_t p = 1; (policy = sched_policy_at(p)) != NULL; p++) {
        const char *name = sched_policy_name(policy);
        state = 4;
        for (uint32_t mix = 0; mix < MIXES; mix++) {
            uint32_t count = anything(0);
            toy_begin(&toy, name, &settings, apps, count);
            toy_run(&toy, 3000 * TOY_MS);
            for (uint32_t i = 0; i < count; i++) {
                uint64_t waited = apps[i].waited_max;
                if (!apps[i].submitted && apps[i].next_at < toy.now) {
                    uint64_t waits = toy.now - apps[i].wanted_at;
                    waited = waits > waited ? waits : waited;
                }
                cr_assert_leq(waited, wait_bound(name, &settings, count, 8 * TOY_MS + 10000),
                              "%s, mix %u: %c waits for %lu us", name, mix, 'A' + i,
                              (unsigned long)(waited / 1000));
            }
            toy_end(&toy);
        }
    }
}

/* Under LAS as in the paper a long request starves while short ones come without end; the bound
 * ends that. */
Test(properties, las_bound)
{
    for (uint32_t bound = 0; bound <= 20; bound += 20) {
        struct sched_settings settings = sched_settings_default();
        settings.las_passed_max = bound;
        settings.quantum_ns = 100 * TOY_MS;
        memset(apps, 0, sizeof(apps));
        ops[0][0] = (struct toy_op){0, GPU_COMPUTE, 10 * TOY_MS};
        for (uint32_t i = 0; i < 21; i++) {
            apps[i] = (struct toy_app){.request = {.tenant = i},
                                       .ops = ops[0],
                                       .op_count = 1,
                                       .rounds = i == 0 ? 0 : 10,
                                       .arrives = i == 0 ? 0 : i * 100 * TOY_MS};
        }
        toy_begin(&toy, "las", &settings, apps, 21);
        toy_run(&toy, 1500 * TOY_MS);
        uint64_t waited = toy.now - apps[0].wanted_at;
        waited = apps[0].waited_max > waited ? apps[0].waited_max : waited;
        if (bound == 0) {
            cr_assert_gt(waited, 1000 * TOY_MS);
        } else {
            cr_assert_leq(waited, bound * 10 * TOY_MS);
        }
        toy_end(&toy);
    }
}

/* Caps hold under each policy, and what they leave is used. */
Test(properties, caps)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_policy *policy = NULL;
    for (size_t p = 0; (policy = sched_policy_at(p)) != NULL; p++) {
        const char *name = sched_policy_name(policy);
        memset(apps, 0, sizeof(apps));
        for (uint32_t i = 0; i < 3; i++) {
            ops[i][0] = (struct toy_op){0, GPU_COMPUTE, TOY_MS};
            apps[i] = (struct toy_app){.request = {.tenant = i / 2, .cap_percent = i < 2 ? 30 : 0},
                                       .ops = ops[i],
                                       .op_count = 1};
        }
        toy_begin(&toy, name, &settings, apps, 3);
        toy_run(&toy, 10000 * TOY_MS);
        uint64_t capped = apps[0].attained + apps[1].attained;
        cr_assert_leq(capped, 3000 * TOY_MS + 30 * TOY_MS + 2 * TOY_MS, "%s", name);
        cr_assert_geq(capped, 2900 * TOY_MS, "%s gives %lu ms", name,
                      (unsigned long)(capped / TOY_MS));
        cr_assert_geq(capped + apps[2].attained, 9990 * TOY_MS, "%s", name);
        toy_end(&toy);
    }
}

/* A throttle holds for copies, too; a cap is of the places that kernels fill. */
Test(properties, throttle_and_places)
{
    struct sched_settings settings = sched_settings_default();
    memset(apps, 0, sizeof(apps));
    ops[0][0] = (struct toy_op){0, GPU_H2D, TOY_MS};
    apps[0] = (struct toy_app){
        .request = {.tenant = 1, .throttle_percent = 10}, .ops = ops[0], .op_count = 1};
    ops[1][0] = (struct toy_op){0, GPU_COMPUTE, TOY_MS};
    apps[1] = (struct toy_app){.request = {.tenant = 2, .cap_percent = 25, .demand_ppm = 500000},
                               .ops = ops[1],
                               .op_count = 1};
    toy_begin(&toy, "none", &settings, apps, 2);
    toy_run(&toy, 10000 * TOY_MS);
    cr_assert_float_eq((double)apps[0].attained, 1000.0 * TOY_MS, 12.0 * TOY_MS);
    cr_assert_float_eq((double)apps[1].attained, 5000.0 * TOY_MS, 52.0 * TOY_MS);
    toy_end(&toy);
}

/* A turn is held while its session computes: without that it would get an operation in its turn,
 * and one more when the others have had theirs. */
Test(properties, hold)
{
    uint64_t attained[2];
    for (uint32_t held = 0; held < 2; held++) {
        struct sched_settings settings = sched_settings_default();
        settings.hold_ns = held * 500000;
        memset(apps, 0, sizeof(apps));
        ops[0][0] = (struct toy_op){100000, GPU_COMPUTE, 900000};
        ops[1][0] = (struct toy_op){0, GPU_COMPUTE, TOY_MS};
        for (uint32_t i = 0; i < 2; i++) {
            apps[i] = (struct toy_app){.request = {.tenant = i}, .ops = ops[i], .op_count = 1};
        }
        toy_begin(&toy, "fs", &settings, apps, 2);
        toy_run(&toy, 10000 * TOY_MS);
        attained[held] = apps[0].attained;
        toy_end(&toy);
    }
    cr_assert_lt(attained[0], 600 * TOY_MS);
    cr_assert_gt(attained[1], 4400 * TOY_MS);
}

/* Long kernels do not begin in each pause of the other one: if the pause is within hold, or as they
 * are owed (TFS), what FS forgets. */
Test(properties, anticipation)
{
    double jain[3];
    for (uint32_t held = 0; held < 3; held++) {
        struct sched_settings settings = sched_settings_default();
        settings.hold_ns = held == 2 ? 6 * TOY_MS : 0;
        memset(apps, 0, sizeof(apps));
        ops[0][0] = (struct toy_op){5 * TOY_MS, GPU_COMPUTE, 20 * TOY_MS};
        ops[1][0] = (struct toy_op){0, GPU_COMPUTE, 120 * TOY_MS};
        for (uint32_t i = 0; i < 2; i++) {
            apps[i] = (struct toy_app){.request = {.tenant = i}, .ops = ops[i], .op_count = 1};
        }
        toy_begin(&toy, held == 0 ? "fs" : "tfs", &settings, apps, 2);
        toy_run(&toy, 20000 * TOY_MS);
        double a = (double)apps[0].attained, b = (double)apps[1].attained;
        jain[held] = (a + b) * (a + b) / (2 * (a * a + b * b));
        toy_end(&toy);
    }
    cr_assert_lt(jain[0], 0.7);
    cr_assert_gt(jain[1], 0.9);
    cr_assert_gt(jain[2], 0.98); /* pauses count in turns */
}

/* The policy changes every 10 ms: nothing is lost. */
Test(properties, change)
{
    struct sched_settings settings = sched_settings_default();
    for (uint32_t mix = 0; mix < MIXES; mix++) {
        state = 100 + mix;
        uint32_t count = anything(30);
        toy_begin(&toy, "none", &settings, apps, count);
        for (uint64_t i = 1; i < 3000; i++) {
            toy_run(&toy, i * 10 * TOY_MS);
            size_t policies = 0;
            while (sched_policy_at(policies) != NULL) {
                policies++;
            }
            cr_assert_gt(policies, 0);
            toy_change(&toy, sched_policy_at(below(policies)), &settings);
        }
        for (uint32_t i = 0; i < count; i++) {
            cr_assert(apps[i].done, "mix %u: %c has not ended", mix, 'A' + i);
        }
        toy_end(&toy);
    }
}

/* Service attained under one policy counts under the next. */
Test(properties, history_is_handed_over)
{
    struct sched_settings settings = sched_settings_default();
    settings.quantum_ns = 100 * TOY_MS;
    memset(apps, 0, sizeof(apps));
    for (uint32_t i = 0; i < 2; i++) {
        ops[i][0] = (struct toy_op){0, GPU_COMPUTE, 10 * TOY_MS};
        apps[i] = (struct toy_app){
            .request = {.tenant = i}, .ops = ops[i], .op_count = 1, .arrives = i * 190 * TOY_MS};
    }
    toy_begin(&toy, "rr", &settings, apps, 2);
    toy_run(&toy, 201 * TOY_MS);
    toy_change(&toy, sched_policy_find("las"), &settings);
    uint64_t before = apps[0].attained;
    toy_run(&toy, 290 * TOY_MS);
    cr_assert_leq(apps[0].attained - before, 10 * TOY_MS); /* the one that ran */
    cr_assert_geq(apps[1].attained, 70 * TOY_MS);
    toy_end(&toy);
}

/* An operation with a goal waits for one batch operation and for the time for which batch work is
 * given its part, and not for turns of others; batch work has its part although the goals alone
 * would fill the GPU. */
Test(properties, goals)
{
    struct sched_settings settings = sched_settings_default();
    uint64_t waited[2];
    const char *policies[] = {"latency", "rr"};
    for (uint32_t p = 0; p < 2; p++) {
        memset(apps, 0, sizeof(apps));
        ops[0][0] = (struct toy_op){7 * TOY_MS, GPU_COMPUTE, TOY_MS};
        ops[1][0] = (struct toy_op){0, GPU_COMPUTE, 2 * TOY_MS};
        for (uint32_t i = 0; i < 4; i++) {
            apps[i] = (struct toy_app){.request = {.tenant = i, .goal_ns = i == 0 ? 5 * TOY_MS : 0},
                                       .ops = ops[i == 0 ? 0 : 1],
                                       .op_count = 1};
        }
        toy_begin(&toy, policies[p], &settings, apps, 4);
        toy_run(&toy, 2000 * TOY_MS);
        waited[p] = apps[0].waited_max;
        toy_end(&toy);
    }
    cr_assert_leq(waited[0], 2 * TOY_MS + settings.horizon_ns);
    cr_assert_geq(waited[1], 20 * TOY_MS);
}

Test(properties, batch_part)
{
    struct sched_settings settings = sched_settings_default();
    for (uint32_t percent = 0; percent <= 20; percent += 10) {
        settings.batch_percent = percent;
        memset(apps, 0, sizeof(apps));
        ops[0][0] = (struct toy_op){0, GPU_COMPUTE, 100000};
        for (uint32_t i = 0; i < 3; i++) {
            apps[i] = (struct toy_app){.request = {.tenant = i, .goal_ns = i < 2 ? TOY_MS : 0},
                                       .ops = ops[0],
                                       .op_count = 1};
        }
        toy_begin(&toy, "latency", &settings, apps, 3);
        toy_run(&toy, 1000 * TOY_MS);
        cr_assert_float_eq((double)apps[2].attained, 10.0 * percent * (double)TOY_MS,
                           0.1 * (10.0 * percent * (double)TOY_MS) + 0.1);
        toy_end(&toy);
    }
}

/* TFS: a turn that is held for one session of a tenant goes to another one that has work. */
Test(properties, tenant_fills_its_turn)
{
    struct sched_settings settings = sched_settings_default();
    settings.hold_ns = 20 * TOY_MS;
    memset(apps, 0, sizeof(apps));
    ops[0][0] = (struct toy_op){2 * TOY_MS, GPU_COMPUTE, TOY_MS};
    ops[1][0] = (struct toy_op){0, GPU_COMPUTE, TOY_MS};
    for (uint32_t i = 0; i < 5; i++) {
        apps[i] = (struct toy_app){
            .request = {.tenant = i / 4}, .ops = ops[i / 4], .op_count = 1}; /* four of one */
    }
    toy_begin(&toy, "tfs", &settings, apps, 5);
    toy_run(&toy, 2000 * TOY_MS);
    uint64_t pausing = apps[0].attained + apps[1].attained + apps[2].attained + apps[3].attained;
    cr_assert_geq(pausing, 850 * TOY_MS);
    cr_assert_geq(apps[4].attained, 950 * TOY_MS);
    toy_end(&toy);
}

/* auto: where contexts take turns, all get slices one at a time, whatever they do; who has a goal
 * goes first. */
Test(properties, auto_follows_the_mix)
{
    struct sched_settings settings = sched_settings_default();
    for (uint32_t mix = 0; mix < 4; mix++) {
        memset(apps, 0, sizeof(apps));
        for (uint32_t i = 0; i < 2; i++) {
            ops[i][0] = (struct toy_op){0, mix == 1 ? GPU_H2D : GPU_COMPUTE, TOY_MS};
            apps[i] = (struct toy_app){.request = {.tenant = i,
                                                   .demand_ppm = mix == 2 ? 300000 : 0,
                                                   .goal_ns = mix == 3 && i == 1 ? 2 * TOY_MS : 0},
                                       .ops = ops[i],
                                       .op_count = 1};
        }
        toy_begin(&toy, "auto", &settings, apps, 2);
        toy_run(&toy, 5000 * TOY_MS);
        uint64_t length = toy.turns[toy.turn_count - 1].length;
        if (mix == 3) {
            cr_assert_gt(apps[1].attained, 9 * apps[0].attained);
        } else {
            cr_assert_eq(toy.awake_most, 1);
            cr_assert_eq(length, 10 * TOY_MS, "mix %u: turns of %lu us", mix,
                         (unsigned long)(length / 1000));
        }
        toy_end(&toy);
    }
}
