/* SPDX-License-Identifier: Apache-2.0 */
/* Worked examples of the policies, computed by hand and in double precision from the papers'
 * definitions. */
#include <criterion/criterion.h>
#include <string.h>

#include "sched/tests/toy_gpu.h"

#define near(a, b) cr_assert_float_eq(a, b, 1e-6, "%.9f is not %.9f", (double)(a), (double)(b))
#define ms(ns)     ((double)(ns) / (double)TOY_MS)

static const struct toy_op kernel_70[] = {{0, GPU_COMPUTE, 70 * TOY_MS}};
static const struct toy_op kernel_20[] = {{0, GPU_COMPUTE, 20 * TOY_MS}};
static const struct toy_op kernel_10[] = {{0, GPU_COMPUTE, 10 * TOY_MS}};

static double jain(double a, double b)
{
    return (a + b) * (a + b) / (2 * (a * a + b * b));
}

/* Two tenants that always have work: kernels of 70 ms and of 10 ms; epoch 100 ms. */
static void run_pair(struct toy_gpu *toy, struct toy_app apps[2], const char *policy,
                     uint32_t weight_b, uint64_t until_ms)
{
    struct sched_settings settings = sched_settings_default();
    memset(apps, 0, 2 * sizeof(apps[0]));
    apps[0] =
        (struct toy_app){.request = {.tenant = 1, .weight = 1}, .ops = kernel_70, .op_count = 1};
    apps[1] = (struct toy_app){
        .request = {.tenant = 2, .weight = weight_b}, .ops = kernel_10, .op_count = 1};
    toy_begin(toy, policy, &settings, apps, 2);
    toy_run(toy, until_ms * TOY_MS);
}

struct row {
    double slice, used, debt; /* debt: after the turn */
};

/* The turns of the application: what each could take, took, and left as a debt. An epoch in which
 * it sits out is no turn. */
static void check_turns(const struct toy_gpu *toy, uint32_t app, const struct row *rows,
                        size_t count, double op_ms)
{
    size_t found = 0;
    for (uint32_t i = 0; i + 1 < toy->turn_count && found < count; i++) {
        const struct toy_turn *turn = &toy->turns[i];
        if (turn->app != app) {
            continue;
        }
        double took = 0;
        for (uint64_t at = turn->at; at < toy->turns[i + 1].at; at += (uint64_t)(op_ms * 1e6)) {
            took += op_ms;
        }
        near(ms(turn->length), rows[found].slice);
        near(took, rows[found].used);
        found++;
    }
    cr_assert_eq(found, count, "there were %zu turns", found);
}

Test(golden, tfs_equal_weights)
{
    static struct toy_gpu toy;
    struct toy_app apps[2];
    run_pair(&toy, apps, "tfs", 1, 700);
    const struct row a[] = {{50, 70, 20}, {30, 70, 40}, {10, 70, 60}, {40, 70, 30}, {20, 70, 50}};
    const struct row b[] = {{50, 50, 0}, {50, 50, 0}, {50, 50, 0},
                            {50, 50, 0}, {50, 50, 0}, {50, 50, 0}};
    check_turns(&toy, 0, a, 5, 70);
    check_turns(&toy, 1, b, 6, 10);
    near(ms(apps[0].attained), 350);
    near(ms(apps[1].attained), 350);
    near(jain(350, 350), 1);
    toy_end(&toy);
}

/* The debts of A after each of its turns: 20, 40, 60, then 10 (it sits out), 30, 50, 0. */
Test(golden, tfs_debts)
{
    static struct toy_gpu toy;
    struct toy_app apps[2];
    const double debts[] = {20, 40, 60, 10, 30, 50, 0};
    const uint64_t epoch_ends[] = {120, 240, 360, 410, 530, 650, 700};
    for (size_t i = 0; i < 7; i++) {
        /* The debt of the turn is in the account until the next epoch begins. */
        run_pair(&toy, apps, "tfs", 1, epoch_ends[i] - 1);
        near(ms(sched_account(toy.sched, apps[0].slot, toy.now).debt_ns), debts[i]);
        near(ms(sched_account(toy.sched, apps[1].slot, toy.now).debt_ns), 0);
        toy_end(&toy);
    }
}

Test(golden, tfs_and_fs_after_100_epochs)
{
    static struct toy_gpu toy;
    struct toy_app apps[2];
    run_pair(&toy, apps, "tfs", 1, 10040);
    near(ms(apps[0].attained), 5040);
    near(ms(apps[1].attained), 5000);
    near(jain(5040, 5000), 0.99998413);
    toy_end(&toy);
    run_pair(&toy, apps, "fs", 1, 12000);
    near(ms(apps[0].attained), 7000);
    near(ms(apps[1].attained), 5000);
    toy_end(&toy);
}

Test(golden, fs_equal_weights)
{
    static struct toy_gpu toy;
    struct toy_app apps[2];
    run_pair(&toy, apps, "fs", 1, 840);
    near(ms(apps[0].attained), 490);
    near(ms(apps[1].attained), 350);
    near(jain(ms(apps[0].attained), ms(apps[1].attained)), 0.972972973);
    toy_end(&toy);
}

Test(golden, tfs_weights_1_3)
{
    static struct toy_gpu toy;
    struct toy_app apps[2];
    run_pair(&toy, apps, "tfs", 3, 810);
    const struct row a[] = {{25, 70, 45}, {5, 70, 65}, {10, 70, 60}};
    const struct row b[] = {{75, 80, 5}, {70, 70, 0}, {75, 80, 5}, {70, 70, 0},
                            {75, 80, 5}, {70, 70, 0}, {75, 80, 5}};
    check_turns(&toy, 0, a, 3, 70);
    check_turns(&toy, 1, b, 7, 10);
    near(ms(apps[0].attained), 210);
    near(ms(apps[1].attained), 600);
    near(jain(210 / 1.0, 600 / 3.0), 0.999405);
    toy_end(&toy);
    run_pair(&toy, apps, "fs", 3, 1200);
    near(ms(apps[0].attained), 560);
    near(ms(apps[1].attained), 640);
    near(jain(560 / 1.0, 640 / 3.0), 0.832673);
    toy_end(&toy);
}

/* CGS at the ends of five quanta, from the service in each. */
Test(golden, las_history)
{
    const double service[5][3] = {{80, 20, 0}, {60, 40, 0}, {0, 50, 50}, {0, 0, 100}, {100, 0, 0}};
    const double cgs[5][3] = {{64, 16, 0},
                              {60.8, 35.2, 0},
                              {12.16, 47.04, 40},
                              {2.432, 9.408, 88},
                              {80.4864, 1.8816, 17.6}};
    struct sched_settings settings = sched_settings_default();
    const struct sched_gpu gpu = {.copy_engines = 2};
    struct sched *sched = NULL;
    uint32_t slots[3];
    settings.quantum_ns = 100 * TOY_MS;
    cr_assert_eq(sched_create(&sched, sched_policy_find("las"), &settings, &gpu, 0), GA_OK);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(sched_join(sched, &(struct sched_request){.tenant = i}, 0, &slots[i]), GA_OK);
    }
    for (uint64_t quantum = 0; quantum < 5; quantum++) {
        for (uint32_t i = 0; i < 3; i++) {
            sched_charge(sched, slots[i], GPU_COMPUTE, (uint64_t)(service[quantum][i] * 1e6),
                         quantum * 100 * TOY_MS + TOY_MS);
        }
        (void)sched_decide(sched, (quantum + 1) * 100 * TOY_MS);
        for (uint32_t i = 0; i < 3; i++) {
            near(ms(sched_account(sched, slots[i], 0).cgs_ns), cgs[quantum][i]);
        }
    }
    /* Two quanta without service, told as one. */
    (void)sched_decide(sched, 700 * TOY_MS);
    near(ms(sched_account(sched, slots[0], 0).cgs_ns), 80.4864 * 0.04);
    sched_destroy(sched);
}

/* A 400 ms and B 120 ms at 0, C 60 ms at 100 ms; operations and slices of 20 ms, quanta of 100. */
static void run_three(struct toy_gpu *toy, struct toy_app apps[3], const char *policy,
                      uint64_t until_ms)
{
    struct sched_settings settings = sched_settings_default();
    settings.slice_ns = 20 * TOY_MS;
    settings.quantum_ns = 100 * TOY_MS;
    const uint32_t rounds[] = {20, 6, 3};
    for (uint32_t i = 0; i < 3; i++) {
        apps[i] = (struct toy_app){.request = {.tenant = i + 1},
                                   .ops = kernel_20,
                                   .op_count = 1,
                                   .rounds = rounds[i],
                                   .arrives = i == 2 ? 100 * TOY_MS : 0};
    }
    toy_begin(toy, policy, &settings, apps, 3);
    toy_run(toy, until_ms * TOY_MS);
}

Test(golden, las_order)
{
    static struct toy_gpu toy;
    struct toy_app apps[3];
    run_three(&toy, apps, "las", 10000);
    cr_assert_str_eq(toy.order, "ABABACCCBBAAAAABBAAAAAAAAAAAA");
    near(ms(apps[2].ended), 160);
    near(ms(apps[1].ended), 340);
    near(ms(apps[0].ended), 580);
    near(ms(apps[0].ended + apps[1].ended + apps[2].ended - 100 * TOY_MS) / 3, 326.666666667);
    toy_end(&toy);
    run_three(&toy, apps, "rr", 10000);
    near(ms(apps[2].ended), 240);
    near(ms(apps[1].ended), 300);
    near(ms(apps[0].ended), 580);
    near(ms(apps[0].ended + apps[1].ended + apps[2].ended - 100 * TOY_MS) / 3, 340);
    toy_end(&toy);
}

/* A 200 ms and B 100 ms of one tenant at 0, C 60 ms of another one at 100 ms; operations and slices
 * of 20 ms, quanta of 100. C has used nothing; A has joined before B. */
Test(golden, las_fcfs_order)
{
    static struct toy_gpu toy;
    struct toy_op op = {.engine = GPU_COMPUTE, .ns = 20 * TOY_MS};
    struct toy_app apps[3];
    const uint32_t rounds[] = {10, 5, 3};
    struct sched_settings settings = sched_settings_default();
    settings.slice_ns = 20 * TOY_MS;
    settings.quantum_ns = 100 * TOY_MS;
    for (uint32_t i = 0; i < 3; i++) {
        apps[i] = (struct toy_app){.request = {.tenant = i / 2, .weight = 1},
                                   .ops = &op,
                                   .op_count = 1,
                                   .rounds = rounds[i],
                                   .arrives = i == 2 ? 100 * TOY_MS : 0};
    }
    toy_begin(&toy, "las_fcfs", &settings, apps, 3);
    toy_run(&toy, 10000 * TOY_MS);
    cr_assert_str_eq(toy.order, "AAAAACCCAAAAABBBBB");
    near(ms(apps[2].ended), 160);
    near(ms(apps[0].ended), 260);
    near(ms(apps[1].ended), 360);
    toy_end(&toy);
}

/* An older session of the tenant that works for ever: B waits for ten times las_passed_max turns.
 */
Test(golden, las_fcfs_bound)
{
    static struct toy_gpu toy;
    struct toy_op op = {.engine = GPU_COMPUTE, .ns = 10 * TOY_MS};
    struct toy_app apps[2];
    struct sched_settings settings = sched_settings_default();
    settings.las_passed_max = 1;
    for (uint32_t i = 0; i < 2; i++) {
        apps[i] = (struct toy_app){.request = {.weight = 1}, .ops = &op, .op_count = 1};
    }
    toy_begin(&toy, "las_fcfs", &settings, apps, 2);
    toy_run(&toy, 220 * TOY_MS);
    cr_assert_eq(strncmp(toy.order, "AAAAAAAAAABAAAAAAAAAAB", 21), 0, "%s", toy.order);
    toy_end(&toy);
}

/* A has kernels of 1 s, ten quanta; B, of another tenant, has kernels of 10 ms. A's kernel is not
 * forgotten before B has had as much. */
Test(golden, las_fcfs_remembers_long_kernels)
{
    static struct toy_gpu toy;
    const struct toy_op ops[] = {{.engine = GPU_COMPUTE, .ns = 1000 * TOY_MS},
                                 {.engine = GPU_COMPUTE, .ns = 10 * TOY_MS}};
    struct toy_app apps[2];
    struct sched_settings settings = sched_settings_default();
    settings.quantum_ns = 100 * TOY_MS;
    for (uint32_t i = 0; i < 2; i++) {
        apps[i] =
            (struct toy_app){.request = {.tenant = i, .weight = 1}, .ops = &ops[i], .op_count = 1};
    }
    toy_begin(&toy, "las_fcfs", &settings, apps, 2);
    toy_run(&toy, 20000 * TOY_MS);
    cr_assert_geq(apps[1].attained, 9000 * TOY_MS, "%.0f ms", ms(apps[1].attained));
    toy_end(&toy);
}

Test(golden, las_cgs_of_the_order)
{
    static struct toy_gpu toy;
    struct toy_app apps[3];
    const double a[] = {48, 9.6, 81.92, 64.384, 92.8768};
    const double b[] = {32, 38.4, 7.68};
    for (uint32_t i = 0; i < 5; i++) {
        run_three(&toy, apps, "las", (i + 1) * 100 + 1);
        near(ms(sched_account(toy.sched, apps[0].slot, toy.now).cgs_ns), a[i]);
        if (i < 3) { /* it has left at 340 */
            near(ms(sched_account(toy.sched, apps[1].slot, toy.now).cgs_ns), b[i]);
        }
        toy_end(&toy);
    }
}

/* Sessions in the order of waiting, and who is woken, in order. */
static void check_ps(const char *policy, uint32_t copy_engines, const char *phases,
                     const char *woken)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_gpu gpu = {.copy_engines = copy_engines, .bandwidth = 100};
    struct sched *sched = NULL;
    char got[16];
    cr_assert_eq(sched_create(&sched, sched_policy_find(policy), &settings, &gpu, 0), GA_OK);
    for (uint32_t i = 0; phases[i] != '\0'; i++) {
        struct sched_request request = {.tenant = i, .wants = GPU_ENGINE_BIT(GPU_COMPUTE)};
        uint32_t slot = 0;
        request.phase = phases[i] == 'k'   ? GPU_PHASE_KL
                        : phases[i] == 'h' ? GPU_PHASE_H2D
                        : phases[i] == 'd' ? GPU_PHASE_D2H
                                           : GPU_PHASE_DFL;
        cr_assert_eq(sched_join(sched, &request, i, &slot), GA_OK);
    }
    struct sched_decision decision = sched_decide(sched, 100);
    toy_slots(&decision, got);
    cr_assert_str_eq(got, woken, "%s with %s: %s instead of %s", policy, phases, got, woken);
    sched_destroy(sched);
}

Test(golden, ps_choice)
{
    check_ps("ps", 2, "khdk-", "123");
    check_ps("ps", 2, "kkkh", "142");
    check_ps("ps", 2, "-dhd", "324");
    check_ps("ps", 2, "--k", "312");
    check_ps("ps", 1, "khdk-", "12");
    check_ps("ps", 1, "dhkk", "31");
    check_ps("ps", 1, "kkk", "12");
}

/* Kernels that want 80, 60, 20 and 10 percent of the memory's bandwidth, and two copies: with the
 * first one, the others are woken as far as they fit. */
Test(golden, ps_bandwidth_choice)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_gpu gpu = {.copy_engines = 2, .bandwidth = 100};
    const uint64_t bandwidths[] = {80, 60, 20, 10};
    const char *policies[] = {"ps", "ps_bandwidth"};
    const char *woken[] = {"123", "13"};
    for (size_t p = 0; p < 2; p++) {
        struct sched *sched = NULL;
        char got[16];
        cr_assert_eq(sched_create(&sched, sched_policy_find(policies[p]), &settings, &gpu, 0),
                     GA_OK);
        for (uint32_t i = 0; i < 4; i++) {
            struct sched_request request = {.tenant = i,
                                            .wants = GPU_ENGINE_BIT(GPU_COMPUTE),
                                            .phase = GPU_PHASE_KL,
                                            .bandwidth = bandwidths[i]};
            uint32_t slot = 0;
            cr_assert_eq(sched_join(sched, &request, i, &slot), GA_OK);
            cr_assert_geq(sched_decide(sched, i).count, 1);
        }
        struct sched_decision decision = sched_decide(sched, 100);
        toy_slots(&decision, got);
        cr_assert_str_eq(got, woken[p], "%s wakes %s", policies[p], got);
        sched_destroy(sched);
    }
}

static double makespan(const char *policy, uint32_t sessions, uint64_t copy_ms, uint64_t kernel_ms)
{
    static struct toy_gpu toy;
    struct sched_settings settings = sched_settings_default();
    struct toy_app apps[3];
    const struct toy_op ops[] = {{0, GPU_H2D, copy_ms * TOY_MS},
                                 {0, GPU_COMPUTE, kernel_ms * TOY_MS},
                                 {0, GPU_D2H, copy_ms * TOY_MS}};
    for (uint32_t i = 0; i < sessions; i++) {
        apps[i] =
            (struct toy_app){.request = {.tenant = i}, .ops = ops, .op_count = 3, .rounds = 3};
    }
    toy_begin(&toy, policy, &settings, apps, sessions);
    toy_run(&toy, SCHED_NEVER);
    uint64_t end = toy.now;
    toy_end(&toy);
    return ms(end);
}

Test(golden, ps_makespans)
{
    near(makespan("ps", 1, 10, 20), 120);
    near(makespan("ps", 2, 10, 20), 140);
    near(makespan("ps", 3, 10, 20), 200);
    near(makespan("rr", 2, 10, 20), 240);
    near(makespan("rr", 3, 10, 20), 360);
    near(makespan("ps", 2, 10, 10), 100);
    near(makespan("ps", 3, 10, 10), 110);
    near(makespan("rr", 2, 10, 10), 180);
    near(makespan("rr", 3, 10, 10), 270);
}

/* Demands 100, 60, 45, 30, 5 percent: {100, 5}, {60, 45}, {30}; turns of 100 ms. */
Test(golden, groups_of_demands)
{
    const uint32_t demands[] = {100, 60, 45, 30, 5};
    struct sched_settings settings = sched_settings_default();
    const struct sched_gpu gpu = {.copy_engines = 2};
    struct sched *sched = NULL;
    cr_assert_eq(sched_create(&sched, sched_policy_find("groups"), &settings, &gpu, 0), GA_OK);
    for (uint32_t i = 0; i < 5; i++) {
        struct sched_request request = {
            .tenant = i, .demand_ppm = demands[i] * 10000, .wants = GPU_ENGINE_BIT(GPU_COMPUTE)};
        uint32_t slot = 0;
        cr_assert_eq(sched_join(sched, &request, 0, &slot), GA_OK);
    }
    const char *turns[] = {"15", "23", "4", "15"};
    for (uint64_t turn = 0; turn < 4; turn++) {
        struct sched_decision decision = sched_decide(sched, turn * 100 * TOY_MS);
        cr_assert_eq(decision.count, strlen(turns[turn]));
        for (uint32_t i = 0; i < decision.count; i++) {
            cr_assert_eq(decision.awake[i].slot, (uint32_t)(turns[turn][i] - '1'));
            cr_assert_eq(decision.awake[i].until, (turn + 1) * 100 * TOY_MS);
            /* the smaller demand has the higher stream priority */
            cr_assert_eq(decision.awake[i].rank, decision.count - 1 - i);
        }
        cr_assert_eq(decision.again, (turn + 1) * 100 * TOY_MS);
    }
    sched_destroy(sched);
}
