/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of GPUs, as the configuration and admins set them: which GPU gets which, when the
 * scheduler begins, and which limits of tenants have no effect. */
#include <criterion/criterion.h>
#include <string.h>

#include "server/tests/fake_node.h"
#include "server/turns/scheduling.h"

static struct processes *room;

static void start(void)
{
    fake_node_start();
    room = &node.gpuaasd.processes;
}

static void stop(void)
{
    scheduling_stop(room);
    fake_node_stop();
}

TestSuite(scheduling, .init = start, .fini = stop);

static struct conf_scheduling with(uint32_t gpu, const char *text)
{
    char why[300] = "";
    struct conf_scheduling scheduling = node.conf.gpus[gpu].scheduling;
    cr_assert_eq(conf_scheduling_set(text, &scheduling, why, sizeof why), GA_OK, "%s", why);
    return scheduling;
}

static void policy_set(uint32_t gpu, const char *policy)
{
    struct conf_scheduling scheduling = node.conf.gpus[gpu].scheduling;
    scheduling.policy = sched_policy_find(policy);
    cr_assert_not_null(scheduling.policy);
    cr_assert_eq(scheduling_set(room, &node.conf, gpu, &scheduling), GA_OK);
}

static uint64_t generation(uint32_t gpu)
{
    return room->devices.all[gpu].policy_generation;
}

Test(scheduling, it_is_wanted_if_any_gpu_has_a_policy)
{
    cr_assert_not(scheduling_is_wanted(&node.conf));
    cr_assert_eq(scheduling_start(room), GA_OK);
    cr_assert_null(room->scheduler);
    node.conf.gpus[2].scheduling.policy = sched_policy_find("rr");
    cr_assert(scheduling_is_wanted(&node.conf));
    cr_assert_eq(scheduling_start(room), GA_OK);
    cr_assert_not_null(room->scheduler);
    cr_assert_not_null(room->turns);
    struct scheduler *scheduler = room->scheduler;
    cr_assert_eq(scheduling_begin_late(room), GA_OK);
    cr_assert_eq(room->scheduler, scheduler, "it runs already");
    scheduling_stop(room);
    cr_assert_null(room->scheduler);
}

Test(scheduling, a_policy_is_set_for_one_gpu)
{
    policy_set(1, "fs");
    cr_assert_not_null(room->scheduler, "it begins when it is needed");
    cr_assert_str_eq(sched_policy_name(node.conf.gpus[1].scheduling.policy), "fs");
    cr_assert_str_eq(sched_policy_name(node.conf.gpus[0].scheduling.policy), "none");
    cr_assert(generation(0) == 1 && generation(1) == 2 && generation(2) == 1);
    policy_set(1, "fs");
    cr_assert_eq(generation(1), 2, "nothing has changed");
    policy_set(1, "none");
    cr_assert_eq(generation(1), 3);
}

Test(scheduling, a_setting_alone_is_a_change)
{
    const struct conf_scheduling slower = with(0, "slice=50ms");
    cr_assert_eq(scheduling_set(room, &node.conf, 0, &slower), GA_OK);
    cr_assert_eq(generation(0), 2);
    cr_assert_eq(node.conf.gpus[0].scheduling.settings.slice_ns, 50 * GA_NS_PER_MS);
    cr_assert_null(room->scheduler, "without a policy there are no turns");
}

Test(scheduling, a_new_configuration_changes_the_gpus_that_it_names)
{
    static struct conf fresh;
    fresh = node.conf;
    fresh.gpus[0] = node.conf.gpus[2]; /* in another order, and one is left out */
    fresh.gpus[1] = node.conf.gpus[0];
    fresh.gpu_count = 2;
    fresh.gpus[0].scheduling.policy = sched_policy_find("las");
    scheduling_reload(room, &node.conf, &fresh);
    cr_assert_str_eq(sched_policy_name(node.conf.gpus[2].scheduling.policy), "las");
    cr_assert_str_eq(sched_policy_name(node.conf.gpus[0].scheduling.policy), "none");
    cr_assert(generation(0) == 1 && generation(1) == 1 && generation(2) == 2);
}

Test(scheduling, gpus_that_ignore_a_limit_are_counted)
{
    cr_assert_eq(scheduling_ignoring(room, "share"), 3);
    policy_set(1, "fs");
    cr_assert_eq(scheduling_ignoring(room, "share"), 2);
    cr_assert_eq(scheduling_ignoring(room, "priority"), 3);
    policy_set(2, "priority");
    cr_assert_eq(scheduling_ignoring(room, "priority"), 2);
}
