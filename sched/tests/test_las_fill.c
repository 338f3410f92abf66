/* SPDX-License-Identifier: Apache-2.0 */
/* Worked examples of las_fill: whose engine is whose. */
#include <criterion/criterion.h>

#include "sched/tests/toy_gpu.h"

/* Sessions in the order of their joins, each of its own tenant, and who is woken, in order: k wants
 * to launch a kernel, s one that fills 0.3 of the GPU, h and d to copy. */
static void check_fill(uint32_t copy_engines, const char *sessions, const char *woken)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_gpu gpu = {.copy_engines = copy_engines, .side_by_side = true};
    struct sched *sched = NULL;
    char got[16];
    cr_assert_eq(sched_create(&sched, sched_policy_find("las_fill"), &settings, &gpu, 0), GA_OK);
    for (uint32_t i = 0; sessions[i] != '\0'; i++) {
        struct sched_request request = {.tenant = i,
                                        .wants = sessions[i] == 'h'   ? GPU_ENGINE_BIT(GPU_H2D)
                                                 : sessions[i] == 'd' ? GPU_ENGINE_BIT(GPU_D2H)
                                                                      : GPU_ENGINE_BIT(GPU_COMPUTE),
                                        .demand_ppm = sessions[i] == 's' ? 300000 : 0};
        uint32_t slot = 0;
        cr_assert_eq(sched_join(sched, &request, i, &slot), GA_OK);
    }
    struct sched_decision decision = sched_decide(sched, 100);
    toy_slots(&decision, got);
    cr_assert_str_eq(got, woken, "%s: %s instead of %s", sessions, got, woken);
    sched_destroy(sched);
}

Test(las_fill, choice)
{
    check_fill(2, "kkhd", "134");
    check_fill(2, "hhkd", "134");
    check_fill(1, "hkd", "12");
    check_fill(2, "ssks", "123");
    check_fill(2, "ks", "1");
}

/* Copies in, kernels, and copies out of three tenants, 10 of 10 ms each: all at a time. */
Test(las_fill, overlaps)
{
    static struct toy_gpu toy;
    const enum gpu_engine engines[] = {GPU_H2D, GPU_COMPUTE, GPU_D2H};
    struct toy_op ops[3];
    struct toy_app apps[3];
    struct sched_settings settings = sched_settings_default();
    for (uint32_t i = 0; i < 3; i++) {
        ops[i] = (struct toy_op){.engine = engines[i], .ns = 10 * TOY_MS};
        apps[i] = (struct toy_app){
            .request = {.tenant = i, .weight = 1}, .ops = &ops[i], .op_count = 1, .rounds = 10};
    }
    toy_begin(&toy, "las_fill", &settings, apps, 3);
    toy_run(&toy, 10000 * TOY_MS);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(apps[i].ended, 100 * TOY_MS);
    }
    toy_end(&toy);
}

/* A session that has had a slice does not get another one while it works on and a session before it
 * waits. */
Test(las_fill, lets_go)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_gpu gpu = {.copy_engines = 2, .side_by_side = true};
    const uint8_t compute = GPU_ENGINE_BIT(GPU_COMPUTE);
    struct sched_request requests[] = {{.tenant = 0, .wants = compute},
                                       {.tenant = 1, .wants = compute}};
    struct sched *sched = NULL;
    uint32_t slots[2];
    cr_assert_eq(sched_create(&sched, sched_policy_find("las_fill"), &settings, &gpu, 0), GA_OK);
    cr_assert_eq(sched_join(sched, &requests[0], 0, &slots[0]), GA_OK);
    cr_assert_eq(sched_decide(sched, 0).count, 1);
    requests[0].busy = compute;
    sched_update(sched, slots[0], &requests[0], 0);
    const uint64_t now = 2 * settings.quantum_ns;
    sched_charge(sched, slots[0], GPU_COMPUTE, TOY_MS, TOY_MS);
    cr_assert_eq(sched_join(sched, &requests[1], now, &slots[1]), GA_OK);
    cr_assert_eq(sched_decide(sched, now).count, 0);
    requests[0].busy = 0;
    sched_update(sched, slots[0], &requests[0], now);
    struct sched_decision decision = sched_decide(sched, now);
    cr_assert_eq(decision.count, 1);
    cr_assert_eq(decision.awake[0].slot, slots[1]);
    sched_destroy(sched);
}

/* Two tenants; each `turn` of one is a kernel. */
struct two {
    struct sched *sched;
    struct sched_request requests[2];
    uint32_t slots[2];
    uint64_t now;
};

static void two_begin(struct two *two, const struct sched_gpu *gpu)
{
    const struct sched_settings settings = sched_settings_default();
    *two = (struct two){.sched = NULL};
    cr_assert_eq(sched_create(&two->sched, sched_policy_find("las_fill"), &settings, gpu, 0),
                 GA_OK);
    for (uint32_t i = 0; i < 2; i++) {
        two->requests[i].tenant = i;
        cr_assert_eq(sched_join(two->sched, &two->requests[i], 0, &two->slots[i]), GA_OK);
    }
}

static bool two_asks(struct two *two, uint32_t i, uint8_t wants, uint8_t busy)
{
    two->requests[i].wants = wants;
    two->requests[i].busy = busy;
    sched_update(two->sched, two->slots[i], &two->requests[i], two->now);
    const struct sched_decision decision = sched_decide(two->sched, two->now);
    for (uint32_t k = 0; k < decision.count; k++) {
        if (decision.awake[k].slot == two->slots[i]) {
            return true;
        }
    }
    return false;
}

/* It runs a kernel alone. */
static void two_turn(struct two *two, uint32_t i, uint64_t ns)
{
    const uint8_t compute = GPU_ENGINE_BIT(GPU_COMPUTE);
    cr_assert(two_asks(two, i, compute, 0));
    (void)two_asks(two, i, 0, compute);
    two->now += ns;
    sched_charge(two->sched, two->slots[i], GPU_COMPUTE, ns, two->now);
    (void)two_asks(two, i, 0, 0);
}

/* Contexts that take turns by time: a kernel does not wait for that of a session behind its own,
 * nor for one that is four times as long. */
Test(las_fill, slices)
{
    const struct sched_gpu gpu = {.copy_engines = 2, .copies_overlap = true, .slices = true};
    const uint8_t compute = GPU_ENGINE_BIT(GPU_COMPUTE);
    /* of the one that runs a kernel and the other one, which comes then; what both have had before,
     * by another kernel of the first one; whether the other one may begin */
    const struct {
        uint64_t running_ms, coming_ms, before;
        bool begins;
    } cases[] = {
        {50, 20, 1, true},
        {20, 30, 1, false},
        {1, 10, 1, false},
        {100, 10, 12, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct two two;
        two_begin(&two, &gpu);
        two_turn(&two, 0, cases[i].running_ms * TOY_MS);
        for (uint64_t k = 0; k < cases[i].before; k++) {
            two_turn(&two, 1, cases[i].coming_ms * TOY_MS);
            two.now += 20 * TOY_MS;
        }
        (void)two_asks(&two, 0, compute, 0);
        (void)two_asks(&two, 0, 0, compute);
        two.now += TOY_MS;
        const bool begins = two_asks(&two, 1, compute, 0);
        sched_destroy(two.sched);
        cr_assert_eq(begins, cases[i].begins, "case %zu", i);
    }
}

/* A turn is held in pauses that have been short after such work, and in no others. */
Test(las_fill, holds_little)
{
    const struct sched_settings settings = sched_settings_default();
    const struct sched_gpu gpu = {.copy_engines = 2};
    for (uint32_t i = 0; i < 2; i++) {
        struct two two;
        two_begin(&two, &gpu);
        for (uint32_t turn = 0; turn < 8; turn++) {
            two_turn(&two, 0, 20 * TOY_MS);
            two.now += i == 0 ? settings.hold_ns / 8 : 2 * settings.hold_ns;
        }
        two_turn(&two, 0, 20 * TOY_MS);
        cr_assert_eq(sched_hold_ns(two.sched, two.slots[0]), i == 0 ? settings.hold_ns : 0);
        sched_destroy(two.sched);
    }
}

/* A has kernels of 50 ms. At 100 ms comes B, which has used less, and copies and launches a kernel
 * of a millisecond each 20 times. A's kernel goes beside its first copy, as nobody knows B, and
 * beside no other one. */
Test(las_fill, keeps_long_kernels_out)
{
    static struct toy_gpu toy;
    const struct toy_op kernel = {.engine = GPU_COMPUTE, .ns = 50 * TOY_MS};
    const struct toy_op both[] = {{0, GPU_H2D, TOY_MS}, {0, GPU_COMPUTE, TOY_MS}};
    struct sched_settings settings = sched_settings_default();
    settings.quantum_ns = 100 * TOY_MS;
    struct toy_app apps[] = {{.request = {.tenant = 0, .weight = 1}, .ops = &kernel, .op_count = 1},
                             {.request = {.tenant = 1, .weight = 1},
                              .ops = both,
                              .op_count = 2,
                              .rounds = 20,
                              .arrives = 100 * TOY_MS}};
    toy_begin(&toy, "las_fill", &settings, apps, 2);
    toy_run(&toy, 1000 * TOY_MS);
    cr_assert_eq(apps[1].ended, 189 * TOY_MS);
    cr_assert_eq(apps[0].attained,
                 950 * TOY_MS); /* of the kernel that runs at the end nothing yet */
    toy_end(&toy);
}

/* A pauses for 10 ms between kernels of 2 ms, B has kernels of 400 ms: until A has had as much, B's
 * do not begin in its pauses. */
Test(las_fill, waits_for_who_comes_back)
{
    static struct toy_gpu toy;
    const struct toy_op ops[] = {{10 * TOY_MS, GPU_COMPUTE, 2 * TOY_MS},
                                 {0, GPU_COMPUTE, 400 * TOY_MS}};
    const struct sched_settings settings = sched_settings_default();
    struct toy_app apps[2];
    for (uint32_t i = 0; i < 2; i++) {
        apps[i] =
            (struct toy_app){.request = {.tenant = i, .weight = 1}, .ops = &ops[i], .op_count = 1};
    }
    toy_begin(&toy, "las_fill", &settings, apps, 2);
    toy_run(&toy, 20000 * TOY_MS);
    cr_assert_geq(apps[0].attained, 1000 * TOY_MS, "%lu ms",
                  (unsigned long)(apps[0].attained / TOY_MS));
    cr_assert_geq(apps[1].attained, 1500 * TOY_MS, "%lu ms",
                  (unsigned long)(apps[1].attained / TOY_MS));
    toy_end(&toy);
}
