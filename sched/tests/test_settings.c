/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong use: settings that contradict each other are refused, each with its own sentence; requests
 * out of bounds are brought within them. */
#include <criterion/criterion.h>
#include <string.h>

#include "sched/sched.h"

static const struct sched_gpu gpu = {.copy_engines = 2, .bandwidth = 144000000000};

static enum ga_status check(const char *policy, const struct sched_settings *settings,
                            const struct sched_gpu *of, const char *word)
{
    char why[256] = "";
    enum ga_status status =
        sched_settings_check(sched_policy_find(policy), settings, of, why, sizeof(why));
    cr_assert_not_null(strstr(why, word), "'%s' does not say '%s'", why, word);
    return status;
}

Test(settings, defaults_fit_every_policy)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_policy *policy = NULL;
    size_t count = 0;
    for (; (policy = sched_policy_at(count)) != NULL; count++) {
        cr_assert_eq(check(sched_policy_name(policy), &settings, &gpu, ""), GA_OK);
        cr_assert_eq(sched_policy_find(sched_policy_name(policy)), policy);
        cr_assert_gt(strlen(sched_policy_summary(policy)), 10);
    }
    cr_assert_geq(count, 9);
    cr_assert_str_eq(sched_policy_name(sched_policy_at(0)), "none");
    cr_assert_null(sched_policy_find("fifo"));
    cr_assert_null(sched_policy_find(""));
}

#define REFUSED(member, value, word)                                                               \
    do {                                                                                           \
        struct sched_settings settings = sched_settings_default();                                 \
        settings.member = (value);                                                                 \
        cr_assert_eq(check("las", &settings, &gpu, word), GA_INVALID);                             \
    } while (0)

Test(settings, contradictions)
{
    const uint64_t hours = UINT64_C(7200000000000);
    struct sched_settings defaults = sched_settings_default();
    REFUSED(slice_ns, 0, "slice");
    REFUSED(slice_ns, hours, "slice: 2h");
    REFUSED(epoch_ns, defaults.slice_ns - 1,
            "epoch: 9999999ns is not allowed: it must be at least as long as slice, which is 10ms");
    REFUSED(epoch_ns, hours, "epoch");
    REFUSED(quantum_ns, defaults.slice_ns, "quantum");
    REFUSED(quantum_ns, hours, "quantum");
    REFUSED(horizon_ns, 0, "horizon");
    REFUSED(horizon_ns, defaults.slice_ns + 1, "horizon");
    REFUSED(hold_ns, defaults.epoch_ns + 1, "hold");
    REFUSED(group_slice_ns, hours, "group_slice: ");
    REFUSED(group_excess_percent, 101, "group_excess: ");
    REFUSED(aging_ns, hours, "aging");
    REFUSED(passed_max, 0, "passed_max: ");
    REFUSED(cap_window_ns, defaults.slice_ns - 1, "cap_window: ");
    REFUSED(bandwidth_percent, 0, "bandwidth");
    REFUSED(batch_percent, 101, "batch");
}

/* A policy that does not use one of two settings does not ask how they go together. */
Test(settings, relations_of_settings_that_are_used)
{
    const struct sched_settings defaults = sched_settings_default();
    struct sched_settings quantum = defaults, epoch = defaults, slice = defaults, ahead = defaults;
    quantum.quantum_ns = defaults.slice_ns;
    epoch.epoch_ns = defaults.slice_ns / 2;
    slice.slice_ns = 2 * defaults.epoch_ns;
    ahead.horizon_ns = 2 * defaults.slice_ns;
    cr_assert_eq(check("rr", &quantum, &gpu, ""), GA_OK);
    cr_assert_eq(check("las", &quantum, &gpu, "quantum: "), GA_INVALID);
    cr_assert_eq(check("tfs", &epoch, &gpu, ""), GA_OK);
    cr_assert_eq(check("rr", &epoch, &gpu, "epoch: "), GA_INVALID);
    cr_assert_eq(check("none", &slice, &gpu, ""), GA_OK);
    cr_assert_eq(check("ps", &slice, &gpu, "cap_window: "), GA_INVALID);
    cr_assert_eq(check("tfs", &ahead, &gpu, ""), GA_OK);
    cr_assert_eq(check("ps", &ahead, &gpu, "horizon: "), GA_INVALID);
}

/* The defaults of docs/scheduling.md. */
Test(settings, defaults)
{
    const struct sched_settings settings = sched_settings_default();
    const uint64_t us = 1000, ms = 1000000;
    cr_assert_eq(settings.slice_ns, 10 * ms);
    cr_assert_eq(settings.epoch_ns, 100 * ms);
    cr_assert_eq(settings.quantum_ns, 1000 * ms);
    cr_assert_eq(settings.horizon_ns, 2 * ms);
    cr_assert_eq(settings.hold_ns, 500 * us);
    cr_assert_eq(settings.patience_ns, 2000 * ms);
    cr_assert_eq(settings.group_slice_ns, 100 * ms);
    cr_assert_eq(settings.group_excess_percent, 10u);
    cr_assert_eq(settings.aging_ns, 1000 * ms);
    cr_assert_eq(settings.passed_max, 10u);
    cr_assert_eq(settings.las_passed_max, 100u);
    cr_assert_eq(settings.cap_window_ns, 100 * ms);
    cr_assert_eq(settings.bandwidth_percent, 100u);
    cr_assert_eq(settings.batch_percent, 5u);
}

/* All times an hour, but those that `member` sets: no order between two is broken. */
static void check_bound(size_t offset, size_t size, uint64_t value, const char *why)
{
    const uint64_t hour = UINT64_C(3600000000000);
    struct sched_settings settings = sched_settings_default();
    settings.epoch_ns = settings.group_slice_ns = settings.cap_window_ns = hour;
    settings.quantum_ns = hour;
    settings.slice_ns = settings.horizon_ns = 10000;
    settings.hold_ns = 0;
    memcpy((char *)&settings + offset, &value, size);
    cr_assert_eq(check("las", &settings, &gpu, why), why[0] == 0 ? GA_OK : GA_INVALID);
}

#define BOUND(member) offsetof(struct sched_settings, member), sizeof(settings.member)

/* Values that are just allowed, and values that are just not. */
Test(settings, bounds)
{
    const struct sched_settings settings = {.slice_ns = 0};
    const struct {
        size_t offset, size;
        uint64_t least, most;
        const char *below, *above; /* NULL: that is another rule, or there is none */
    } cases[] = {
        {BOUND(epoch_ns), 10000, 3600000000000, NULL,
         "epoch: 3600000000001ns is not allowed: it must be between 10us and 1h"},
        {BOUND(quantum_ns), 10001, 3600000000000, NULL,
         "quantum: 3600000000001ns is not allowed: it must be between 10001ns and 1h"},
        {BOUND(horizon_ns), 1000, 10000,
         "horizon: 999ns is not allowed: it must be between 1us and 1h",
         "horizon: 10001ns is not allowed: it must be at most as long as slice, which is 10us"},
        {BOUND(hold_ns), 0, 3600000000000, NULL,
         "hold: 3600000000001ns is not allowed: it must be between none and 1h"},
        {BOUND(patience_ns), 0, 3600000000000, NULL,
         "patience: 3600000000001ns is not allowed: it must be between none and 1h"},
        {BOUND(group_slice_ns), 10000, 3600000000000,
         "group_slice: 9999ns is not allowed: it must be between 10us and 1h",
         "group_slice: 3600000000001ns is not allowed: it must be between 10us and 1h"},
        {BOUND(group_excess_percent), 0, 100, NULL,
         "group_excess: 101 is not allowed: it must be between 0 and 100"},
        {BOUND(aging_ns), 0, 3600000000000, NULL,
         "aging: 3600000000001ns is not allowed: it must be between none and 1h"},
        {BOUND(passed_max), 1, UINT32_MAX,
         "passed_max: 0 is not allowed: it must be between 1 and 4294967295", NULL},
        {BOUND(las_passed_max), 0, UINT32_MAX, NULL, NULL},
        {BOUND(cap_window_ns), 10000, 3600000000000,
         "cap_window: 9999ns is not allowed: it must be between 10us and 1h",
         "cap_window: 3600000000001ns is not allowed: it must be between 10us and 1h"},
        {BOUND(bandwidth_percent), 1, 1000,
         "bandwidth_percent: 0 is not allowed: it must be between 1 and 1000",
         "bandwidth_percent: 1001 is not allowed: it must be between 1 and 1000"},
        {BOUND(batch_percent), 0, 100, NULL,
         "batch_percent: 101 is not allowed: it must be between 0 and 100"},
        {BOUND(slice_ns), 10000, 3599999999999,
         "slice: 9999ns is not allowed: it must be between 10us and 1h",
         "quantum: 1h is not allowed: it must be longer than slice, which is 1h: service"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_bound(cases[i].offset, cases[i].size, cases[i].least, "");
        check_bound(cases[i].offset, cases[i].size, cases[i].most, "");
        if (cases[i].below != NULL) {
            check_bound(cases[i].offset, cases[i].size, cases[i].least - 1, cases[i].below);
        }
        if (cases[i].above != NULL) {
            check_bound(cases[i].offset, cases[i].size, cases[i].most + 1, cases[i].above);
        }
    }
    check_bound(BOUND(slice_ns), UINT64_C(3600000000001),
                "slice: 3600000000001ns is not allowed: it must be between 10us and 1h");
    check_bound(BOUND(epoch_ns), 9999,
                "epoch: 9999ns is not allowed: it must be between 10us and 1h");
    check_bound(BOUND(quantum_ns), 10000,
                "quantum: 10us is not allowed: it must be between 10001ns and 1h");
}

Test(settings, a_gpu_has_one_or_two_copy_engines)
{
    struct sched_settings settings = sched_settings_default();
    for (uint32_t engines = 0; engines < 4; engines++) {
        const struct sched_gpu of = {.copy_engines = engines, .bandwidth = 1};
        bool has = engines == 1 || engines == 2;
        cr_assert_eq(check("rr", &settings, &of, has ? "" : "a GPU has one or two, not "),
                     has ? GA_OK : GA_INVALID);
        cr_assert_eq(check("ps_bandwidth", &settings, &of, ""), has ? GA_OK : GA_INVALID);
    }
}

/* The table of docs/scheduling.md. */
Test(settings, what_policies_use)
{
    static const struct {
        const char *name, *users;
    } rows[] = {{"quantum", "las, las_fcfs, las_fill or auto"},
                {"aging", "priority"},
                {"priority", "priority"},
                {"latency-goal", "latency or auto"},
                {"share", "las, las_fcfs, las_fill, fs, tfs or auto"},
                {"passed_max", "rr, ps or ps_bandwidth"},
                {"group_slice", "groups"}};
    char text[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sched_policies_using(rows[i].name, text, sizeof text);
        cr_expect_str_eq(text, rows[i].users, "%s: %s", rows[i].name, text);
    }
    sched_policy_used(sched_policy_find("priority"), text, sizeof text);
    cr_expect_str_eq(text, "slice, epoch, hold, aging, priority");
    cr_expect(sched_policy_uses(sched_policy_find("none"), "horizon"));
    cr_expect_not(sched_policy_uses(sched_policy_find("none"), "slice"));
    cr_expect_not(sched_policy_uses(sched_policy_find("tfs"), "slice"));
}

Test(settings, what_a_gpu_lacks)
{
    struct sched_settings settings = sched_settings_default();
    const struct sched_gpu unknown = {.copy_engines = 1};
    const struct sched_gpu none = {.copy_engines = 0};
    cr_assert_eq(check("ps_bandwidth", &settings, &unknown, "bandwidth"), GA_UNSUPPORTED);
    cr_assert_eq(check("ps", &settings, &unknown, ""), GA_OK);
    cr_assert_eq(check("ps", &settings, &none, "copy_engines: "), GA_INVALID);
}

/* A stranger's words: a weight of 0 or a phase that does not exist harm nobody. */
Test(settings, requests_are_brought_within_bounds)
{
    struct sched_settings settings = sched_settings_default();
    settings.las_passed_max = 1;
    const struct sched_policy *policy = NULL;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        struct sched *sched = NULL;
        uint32_t slots[2];
        struct sched_request request = {.wants = 0xff,
                                        .weight = 0,
                                        .phase = (enum gpu_phase)77,
                                        .demand_ppm = UINT32_MAX,
                                        .cap_percent = 7000,
                                        .bandwidth = UINT64_MAX,
                                        .goal_ns = UINT64_MAX,
                                        .priority = UINT32_MAX};
        cr_assert_eq(sched_create(&sched, policy, &settings, &gpu, 0), GA_OK);
        for (uint32_t k = 0; k < 2; k++) {
            cr_assert_eq(sched_join(sched, &request, k, &slots[k]), GA_OK);
        }
        for (uint64_t now = 2; now < 40; now++) {
            struct sched_decision decision = sched_decide(sched, now * 10000000);
            cr_assert_geq(decision.count, 1);
        }
        for (uint32_t k = 0; k < 2; k++) {
            cr_assert_geq(sched_account(sched, slots[k], 0).turns, i == 0 ? 0u : 1u);
        }
        sched_destroy(sched);
    }
}

/* auto: who is awake beside a session that runs a kernel depends on what overlaps on the GPU. */
Test(settings, auto_knows_what_overlaps)
{
    const struct {
        struct sched_gpu gpu;
        uint32_t demand_ppm;
        uint32_t beside_copy, beside_kernel; /* awake, of two */
    } cases[] = {
        {{.copy_engines = 2}, 300000, 1, 1},
        {{.copy_engines = 2, .slices = true}, 300000, 1, 1},
        {{.copy_engines = 2, .copies_overlap = true}, 300000, 2, 1},
        {{.copy_engines = 2, .copies_overlap = true, .slices = true}, 300000, 2, 1},
        {{.copy_engines = 2, .side_by_side = true}, 300000, 2, 2},
        {{.copy_engines = 2, .side_by_side = true}, 1000000, 2, 1},
    };
    const struct sched_settings settings = sched_settings_default();
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        const uint32_t expected =
            i % 2 == 0 ? cases[i / 2].beside_copy : cases[i / 2].beside_kernel;
        struct sched *sched = NULL;
        uint32_t slot = 0;
        cr_assert_eq(
            sched_create(&sched, sched_policy_find("auto"), &settings, &cases[i / 2].gpu, 0),
            GA_OK);
        for (uint32_t k = 0; k < 2; k++) {
            struct sched_request request = {
                .tenant = k,
                .wants = GPU_ENGINE_BIT(k == 0 && i % 2 == 0 ? GPU_H2D : GPU_COMPUTE),
                .demand_ppm = cases[i / 2].demand_ppm};
            cr_assert_eq(sched_join(sched, &request, 0, &slot), GA_OK);
        }
        const uint32_t awake = sched_decide(sched, 0).count;
        sched_destroy(sched);
        cr_assert_eq(awake, expected, "case %zu: %u are awake", i, awake);
    }
}

/* A debt and a cap do not end with the session. */
Test(settings, new_sessions_do_not_forgive)
{
    struct sched_settings settings = sched_settings_default();
    struct sched *sched = NULL;
    uint32_t slot = 0;
    struct sched_request request = {.tenant = 7, .wants = 1, .cap_percent = 10};
    cr_assert_eq(sched_create(&sched, sched_policy_find("rr"), &settings, &gpu, 0), GA_OK);
    cr_assert_eq(sched_join(sched, &request, 0, &slot), GA_OK);
    cr_assert_eq(sched_decide(sched, 0).count, 1);
    sched_charge(sched, slot, GPU_COMPUTE, 50000000, 50000000);
    sched_leave(sched, slot, 50000000);
    cr_assert_eq(sched_join(sched, &request, 50000000, &slot), GA_OK);
    struct sched_decision decision = sched_decide(sched, 50000000);
    cr_assert_eq(decision.count, 0);
    cr_assert(sched_account(sched, slot, 50000000).capped);
    /* 10 ms less 50 ms, 5 ms came in; a quarter of the bucket is 2.5 ms */
    cr_assert_gt(decision.again, 50000000);
    cr_assert_eq(sched_decide(sched, decision.again).count, 1);
    sched_destroy(sched);
}
