/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a GPU's scheduling. */
#include <stddef.h>
#include <stdio.h>

#include "conf/key.h"
#include "conf/tests/reading.h"

Test(scheduling, defaults_of_scheduling_are_those_of_the_scheduler)
{
    const struct conf conf = read_good(SMALLEST);
    const struct sched_settings expected = sched_settings_default();
    for (size_t i = 0; i < conf_key_count; i++) {
        const struct conf_key *key = &conf_keys[i];
        if (conf_key_schedules(key) && key->type != CONF_TYPE_POLICY) {
            size_t at = key->offset - offsetof(struct conf_gpu, scheduling.settings);
            cr_expect_eq(memcmp((const char *)&conf.gpus[0] + key->offset,
                                (const char *)&expected + at, conf_key_bytes(key)),
                         0, "%s", key->name);
        }
    }
    cr_assert_eq(conf.gpus[0].scheduling.policy, sched_policy_find("none"));
}

Test(scheduling, scheduling_is_read)
{
    const struct conf conf =
        read_good(SMALLEST "policy = tfs\nslice = 5ms\nepoch = 50 ms\nhold = none\n");
    cr_assert_eq(conf.gpus[0].scheduling.policy, sched_policy_find("tfs"));
    cr_assert_eq(conf.gpus[0].scheduling.settings.slice_ns, 5000000);
    cr_assert_eq(conf.gpus[0].scheduling.settings.epoch_ns, 50000000);
    cr_assert_eq(conf.gpus[0].scheduling.settings.hold_ns, 0);
}

Test(scheduling, every_policy_can_be_chosen)
{
    const struct sched_policy *policy;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        char text[300];
        snprintf(text, sizeof text, SMALLEST "policy = %s\n", sched_policy_name(policy));
        cr_assert_eq(read_good(text).gpus[0].scheduling.policy, policy);
    }
}

Test(scheduling, wrong_scheduling_names_the_line_and_what_is_possible)
{
    expect_one(SMALLEST "policy = fair\n",
               "f:5: [gpu.0] policy: \"fair\" is not allowed; allowed: none, rr, las, las_fcfs, "
               "las_fill, fs, tfs");
    expect_one(SMALLEST "slice = 5\n", "10us to 1h: a number and ns, us, ms, s, min or h");
    expect_one(SMALLEST "slice = none\n", "10us to 1h");
    expect_one(SMALLEST "policy = las\nquantum = 20ms\nslice = 20ms\nclock_mhz = 900\n",
               "f:6: [gpu.0] quantum: 20ms is not allowed: it must be longer than slice, which is "
               "20ms");
    expect_one(SMALLEST "policy = rr\nslice = 1s\nclock_mhz = 900\n",
               "f:6: [gpu.0] epoch: 100ms is not allowed: it must be at least as long as slice");
    expect_one(SMALLEST "passed_max = 0\n", "1 to 4294967295");
}

static void line_keep(void *user, const char *line)
{
    char *text = user;
    snprintf(text + strlen(text), 1000 - strlen(text), "%s\n", line);
}

/* A key of the file that the policy does not use is told. */
Test(scheduling, keys_without_effect)
{
    const struct {
        const char *keys, *told;
    } cases[] = {
        {"", ""},
        {"policy = rr\nslice = 5ms\nhorizon = 1ms\npatience = 1s\ncap_window = 1s\n", ""},
        {"policy = rr\nquantum = 2s\n",
         "f: [gpu.0] quantum: has no effect with policy rr: remove it, or choose policy las, "
         "las_fcfs, las_fill or auto\n"},
        {"slice = 5ms\n", "f: [gpu.0] slice: has no effect with policy none: remove it, or choose "
                          "policy rr, las, las_fcfs, las_fill, ps, ps_bandwidth, priority, "
                          "latency or auto\n"},
        {"aging = none\npolicy = tfs\ngroup_slice = 100ms\n",
         "f: [gpu.0] group_slice: has no effect with policy tfs: remove it, or choose policy "
         "groups\nf: [gpu.0] aging: has no effect with policy tfs: remove it, or choose policy "
         "priority\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500], told[1000] = "";
        snprintf(text, sizeof text, "%s%s", SMALLEST, cases[i].keys);
        const struct conf conf = read_good(text);
        conf_scheduling_idle("f", &conf, line_keep, told);
        cr_expect_str_eq(told, cases[i].told, "case %zu: %s", i, told);
    }
}

Test(scheduling, scheduling_is_set_by_texts)
{
    const struct conf conf = read_good(SMALLEST);
    struct conf_scheduling scheduling = conf.gpus[0].scheduling;
    char why[400] = "";
    cr_assert_eq(conf_scheduling_set("slice=3ms", &scheduling, why, sizeof why), GA_OK);
    cr_assert_eq(conf_scheduling_set("passed_max=4", &scheduling, why, sizeof why), GA_OK);
    cr_assert_eq(conf_scheduling_set("policy=ps", &scheduling, why, sizeof why), GA_OK);
    cr_assert_eq(scheduling.settings.slice_ns, 3000000);
    cr_assert_eq(scheduling.settings.passed_max, 4);
    cr_assert_eq(scheduling.policy, sched_policy_find("ps"));
    const struct {
        const char *text, *why;
    } wrong[] = {{"slice", "'slice' is not KEY=VALUE of a KEY of slice, epoch, quantum"},
                 {"memory=1GiB", "is not KEY=VALUE"},
                 {"slice=fast", "slice: \"fast\" is not allowed; allowed: 10us to 1h"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_eq(conf_scheduling_set(wrong[i].text, &scheduling, why, sizeof why), GA_INVALID);
        cr_assert_not_null(strstr(why, wrong[i].why), "%s", why);
    }
    cr_assert_eq(scheduling.settings.slice_ns, 3000000);
}

static void slice_look(void *user, const char *name, const char *text, uint64_t number)
{
    if (strcmp(name, "slice_ns") == 0 && text == NULL) {
        *(uint64_t *)user = number;
    }
}

Test(scheduling, scheduling_is_told)
{
    const struct conf conf = read_good(SMALLEST "slice = 7ms\n");
    uint64_t slice_ns = 0;
    conf_scheduling_tell(&conf.gpus[0].scheduling, slice_look, &slice_ns);
    cr_assert_eq(slice_ns, 7000000);
}

Test(scheduling, gpus_are_the_same_whatever_their_scheduling)
{
    const struct conf one = read_good(SMALLEST), other = read_good(SMALLEST "policy = rr\n"),
                      third = read_good(SMALLEST "sms = 3\n");
    cr_assert(conf_gpus_same(&one, &other));
    cr_assert_not(conf_gpus_same(&one, &third));
}
