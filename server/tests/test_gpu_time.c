/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU time of a day and a month: who may begin when it is used up, and what happens to programs
 * that run. The store says what has been used. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/cuda_names.h"
#include "server/applications/gpu_time.h"
#include "server/tenants/member.h"
#include "server/tenants/refusal.h"
#include "server/tests/fake_node.h"

TestSuite(gpu_time, .init = fake_node_start, .fini = fake_node_stop);

static struct refusal refusal;

/* The user has used so much today. */
static void used(const char *user, uint64_t ms)
{
    static unsigned sessions;
    const int64_t now = time(NULL);
    struct store_usage row = {.node = "n1",
                              .epoch = 1,
                              .tenant = "lab",
                              .tenant_number = 1,
                              .gpu = "g0",
                              .began = now,
                              .last = now,
                              .ended = now,
                              .figures = {.gpu_ns = ms * GA_NS_PER_MS}};
    snprintf(row.user, sizeof row.user, "%s", user);
    snprintf(row.session, sizeof row.session, "s%u", sessions++);
    cr_assert_eq(store_usage_write(node.gpuaasd.storage.store, &row, 1), GA_OK, "%s",
                 store_why(node.gpuaasd.storage.store));
}

static struct tenant_terms lab_with(enum limit limit, uint64_t most)
{
    struct tenant_terms lab = fake_terms("lab", 1);
    lab.limits.of[limit] = most;
    return lab;
}

static bool admits(const struct control_application *application)
{
    memset(&refusal, 0, sizeof refusal);
    return gpu_time_admits(application->tenant, application->member, &refusal);
}

Test(gpu_time, when_it_is_used_up_programs_are_refused)
{
    const struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 5000);
    struct control_application *it = fake_application(&lab, 1);
    cr_assert(admits(it));
    used("ann", 3000);
    used("bob", 1999);
    cr_assert(admits(it));
    used("bob", 1);
    cr_assert_not(admits(it));
    cr_assert_eq(refusal.reason, REFUSAL_LIMIT);
    cr_assert_eq(refusal.limit, LIMIT_GPU_TIME_DAY);
    cr_assert_str_eq(refusal.why, "limit gpu-seconds-day of tenant lab: 5s allowed, 5s used; wait "
                                  "for the next day (UTC), or ask for a higher limit");
}

Test(gpu_time, that_of_a_month_is_a_limit_of_its_own)
{
    const struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_MONTH, 5000);
    struct control_application *it = fake_application(&lab, 1);
    used("ann", 6000);
    cr_assert_not(admits(it));
    cr_assert_eq(refusal.limit, LIMIT_GPU_TIME_MONTH);
    cr_assert_str_eq(refusal.why, "limit gpu-seconds-month of tenant lab: 5s allowed, 6s used; "
                                  "wait for the next month (UTC), or ask for a higher limit");
}

Test(gpu_time, a_user_has_its_own_and_others_go_on)
{
    const struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 50000);
    struct limits anns = lab.limits;
    anns.of[LIMIT_GPU_TIME_DAY] = 2000;
    struct control_application *ann = fake_application_of_user(&lab, "ann", &anns, 1),
                               *bob = fake_application_of_user(&lab, "bob", NULL, 2);
    used("bob", 2000);
    cr_assert(admits(ann));
    used("ann", 2000);
    cr_assert(admits(bob));
    cr_assert_not(admits(ann));
    cr_assert_str_eq(refusal.why, "limit gpu-seconds-day of user ann of tenant lab: 2s allowed, 2s "
                                  "used; wait for the next day (UTC), or ask for a higher limit");
}

Test(gpu_time, a_program_that_runs_goes_on_unless_the_terms_say_otherwise)
{
    struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 5000);
    struct control_application *it = fake_application(&lab, 1);
    fake_open(fake_seat(it), 0);
    used("ann", 6000);
    fake_node_pass(3000);
    cr_assert_eq(it->terminated_ns, 0);
    lab.exhausted = EXHAUSTED_SUSPEND;
    lab.generation = 1;
    tenant_renew(&node.gpuaasd.applications.tenants, &lab);
    fake_node_pass(1200);
    cr_assert_neq(it->terminated_ns, 0);
    cr_assert_eq(it->closes, APPLICATION_SPENT);
    cr_assert_str_eq(it->terminated_why, "limit gpu-seconds-day of tenant lab: 5s allowed, 6s "
                                         "used; wait for the next day (UTC), or ask for a higher "
                                         "limit");
    cr_assert_not(admits(it));
    cr_assert_eq(it->terminated_result, refusal.result);
}

Test(gpu_time, at_the_limit_of_a_user_only_its_programs_are_ended)
{
    struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 50000);
    lab.exhausted = EXHAUSTED_SUSPEND;
    struct limits anns = lab.limits;
    anns.of[LIMIT_GPU_TIME_DAY] = 2000;
    struct control_application *ann = fake_application_of_user(&lab, "ann", &anns, 1),
                               *bob = fake_application_of_user(&lab, "bob", NULL, 2);
    fake_open(fake_seat(ann), 0);
    fake_open(fake_seat(bob), 0);
    fake_node_pass(1200);
    used("ann", 2000);
    fake_node_pass(1200);
    cr_assert_neq(ann->terminated_ns, 0);
    cr_assert_eq(bob->terminated_ns, 0);
}

Test(gpu_time, it_is_looked_at_once_a_second)
{
    struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 5000);
    lab.exhausted = EXHAUSTED_SUSPEND;
    struct control_application *it = fake_application(&lab, 1);
    uint64_t now = node.still.now_ns;
    it->tenant->gpu_time_ns = now;
    used("ann", 6000);
    cr_assert(gpu_time_turn(it->tenant, now + GA_NS_PER_S - 1));
    cr_assert_eq(it->terminated_ns, 0);
    cr_assert(gpu_time_turn(it->tenant, now + GA_NS_PER_S));
    cr_assert_neq(it->terminated_ns, 0);
    cr_assert_eq(it->tenant->gpu_time_ns, now + GA_NS_PER_S);
}

Test(gpu_time, where_nothing_can_happen_nobody_looks)
{
    struct tenant_terms lab = fake_terms("lab", 1);
    struct control_application *it = fake_application(&lab, 1);
    struct tenant *tenant = it->tenant;
    uint64_t now = node.still.now_ns;
    cr_assert_not(gpu_time_turn(tenant, now), "it has no limit");
    tenant->terms.limits.of[LIMIT_GPU_TIME_MONTH] = 5000;
    cr_assert_not(gpu_time_turn(tenant, now), "its programs go on, and none begins");
    tenant->terms.exhausted = EXHAUSTED_SUSPEND;
    cr_assert(gpu_time_turn(tenant, now));
    tenant->application_count = 0;
    cr_assert_not(gpu_time_turn(tenant, now), "it has no programs");
}

Test(gpu_time, a_program_that_is_about_to_begin_loses_its_ticket)
{
    const struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 5000);
    struct control_application *begins = fake_application(&lab, 1),
                               *runs = fake_application(&lab, 2);
    struct seat *seats[] = {fake_seat(begins), fake_seat(runs)};
    fake_ticket(seats[0], 1);
    fake_open(seats[1], 0);
    fake_ticket(seats[1], 1);
    cr_assert(gpu_time_turn(begins->tenant, node.still.now_ns));
    cr_assert_eq(fake_told_times(fake_process_of(seats[0]), CHANNEL_VOID), 0);
    used("ann", 5000);
    cr_assert(gpu_time_turn(begins->tenant, node.still.now_ns + GA_NS_PER_S));
    cr_assert_eq(fake_told(fake_process_of(seats[0]), CHANNEL_VOID)->claim.gpu, 1);
    cr_assert_null(fake_told(fake_process_of(seats[1]), CHANNEL_VOID), "it has a session");
    cr_assert_eq(begins->terminated_ns, 0);
}

Test(gpu_time, with_a_throttle_programs_may_begin_and_go_on_slower)
{
    struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 5000);
    lab.limits.of[LIMIT_THROTTLE] = 20;
    lab.exhausted = EXHAUSTED_SUSPEND;
    struct control_application *it = fake_application(&lab, 1);
    fake_node_pass(1200);
    cr_assert_not(it->tenant->throttled);
    used("ann", 5000);
    fake_node_pass(1200);
    cr_assert(it->tenant->throttled);
    cr_assert_eq(it->terminated_ns, 0);
    cr_assert(admits(it));
    lab.limits.of[LIMIT_GPU_TIME_DAY] = 9000;
    lab.generation = 1;
    tenant_renew(&node.gpuaasd.applications.tenants, &lab);
    fake_node_pass(1200);
    cr_assert_not(it->tenant->throttled, "there is time again");
}

Test(gpu_time, a_tenant_that_comes_without_time_is_throttled_from_the_start)
{
    struct tenant_terms lab = lab_with(LIMIT_GPU_TIME_DAY, 5000);
    lab.limits.of[LIMIT_THROTTLE] = 20;
    used("ann", 5000);
    struct control_application *it = fake_application(&lab, 1);
    cr_assert(it->tenant->throttled);
    it->tenant->terms.limits.of[LIMIT_THROTTLE] = LIMIT_NONE;
    cr_assert_not(gpu_time_turn(it->tenant, node.still.now_ns), "nobody begins");
    cr_assert_not(it->tenant->throttled);
}

Test(gpu_time, a_throttle_is_no_leave_for_a_user_without_time)
{
    struct tenant_terms lab = lab_with(LIMIT_THROTTLE, 20);
    struct limits anns = lab.limits;
    anns.of[LIMIT_GPU_TIME_DAY] = 2000;
    struct control_application *ann = fake_application_of_user(&lab, "ann", &anns, 1);
    used("ann", 2000);
    cr_assert_not(admits(ann));
    cr_assert_not(ann->tenant->throttled);
}
