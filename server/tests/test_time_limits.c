/* SPDX-License-Identifier: Apache-2.0 */
/* wall-time and idle-timeout, where the backend process does not hold them: gpuaasd ends the
 * program six seconds later. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/applications/time_limits.h"
#include "server/tests/fake_node.h"

TestSuite(time_limits, .init = fake_node_start, .fini = fake_node_stop);

static struct control_application *it;
static struct seat *seat;
static struct figures *figures;

static void program_with(enum limit limit, uint64_t ms)
{
    struct tenant_terms lab = fake_terms("lab", 1);
    lab.limits.of[limit] = ms;
    it = fake_application(&lab, 1);
    seat = fake_seat(it);
    figures = (struct figures *)(uintptr_t)seat->usage.figures;
}

static void serve(void)
{
    fake_open(seat, 0);
    fake_says_kind(seat, CHANNEL_SERVED);
}

Test(time_limits, wall_time_counts_from_the_first_device)
{
    program_with(LIMIT_WALL_TIME, 10000);
    fake_node_pass(8000);
    fake_open(seat, 0);
    fake_node_pass(16000);
    cr_assert_eq(it->terminated_ns, 0);
    fake_node_pass(100);
    cr_assert_neq(it->terminated_ns, 0);
    cr_assert_eq(it->closes, APPLICATION_SPENT);
    cr_assert_eq(it->terminated_result, CUDA_ERROR_LAUNCH_FAILED);
    cr_assert_str_eq(it->terminated_why, "limit wall-time of tenant lab: 10s allowed, and its "
                                         "backend process has not ended it");
}

Test(time_limits, idle_time_counts_from_when_the_program_was_last_busy)
{
    program_with(LIMIT_IDLE_TIMEOUT, 5000);
    serve();
    fake_node_pass(9000);
    atomic_store(&figures->busy_at_ns, node.still.now_ns);
    fake_node_pass(11000);
    cr_assert_eq(it->terminated_ns, 0);
    fake_node_pass(100);
    cr_assert_neq(it->terminated_ns, 0);
    cr_assert_eq(it->closes, APPLICATION_SPENT);
    cr_assert_str_eq(it->terminated_why, "limit idle-timeout of tenant lab: 5s allowed, and its "
                                         "backend process has not ended it");
}

Test(time_limits, a_seat_that_is_not_served_yet_is_not_idle)
{
    program_with(LIMIT_IDLE_TIMEOUT, 1000);
    fake_node_pass(60000);
    cr_assert_eq(it->terminated_ns, 0);
    serve();
    fake_node_pass(6900);
    cr_assert_neq(it->terminated_ns, 0, "it has had the seat all the time and was never busy");
}

Test(time_limits, what_a_process_says_of_the_future_or_of_before_counts_no_more_than_it_can)
{
    program_with(LIMIT_IDLE_TIMEOUT, 5000);
    atomic_store(&figures->busy_at_ns, 1); /* of the application before */
    fake_node_pass(3000);
    serve();
    fake_node_pass(7900);
    cr_assert_eq(it->terminated_ns, 0, "it counts from when it got the seat");
    atomic_store(&figures->busy_at_ns, UINT64_MAX);
    fake_node_pass(60000);
    cr_assert_eq(it->terminated_ns, 0, "a process may say that its program is busy");
}

Test(time_limits, a_users_own_limit_is_named_as_theirs)
{
    struct tenant_terms lab = fake_terms("lab", 1);
    lab.limits.of[LIMIT_WALL_TIME] = 100000;
    struct limits anns = lab.limits;
    anns.of[LIMIT_WALL_TIME] = 2000;
    it = fake_application_of_user(&lab, "ann", &anns, 1);
    struct control_application *bobs = fake_application_of_user(&lab, "bob", NULL, 2);
    fake_open(fake_seat(it), 0);
    fake_open(fake_seat(bobs), 1);
    fake_node_pass(8200);
    cr_assert_str_eq(it->terminated_why, "limit wall-time of user ann of tenant lab: 2s allowed, "
                                         "and its backend process has not ended it");
    cr_assert_eq(bobs->terminated_ns, 0);
    fake_node_pass(98200);
    cr_assert_str_eq(bobs->terminated_why, "limit wall-time of tenant lab: 100s allowed, and its "
                                           "backend process has not ended it");
}

Test(time_limits, tenants_without_them_are_not_looked_at)
{
    struct tenant_terms lab = fake_terms("lab", 1);
    it = fake_application(&lab, 1);
    fake_open(fake_seat(it), 0);
    cr_assert_not(time_limits_turn(it->tenant, node.still.now_ns));
    it->tenant->terms.limits.of[LIMIT_IDLE_TIMEOUT] = 1000;
    cr_assert(time_limits_turn(it->tenant, node.still.now_ns));
    it->tenant->terms.limits.of[LIMIT_IDLE_TIMEOUT] = LIMIT_NONE;
    it->tenant->terms.limits.of[LIMIT_WALL_TIME] = 1000;
    cr_assert(time_limits_turn(it->tenant, node.still.now_ns));
}

/* The machine was suspended: the process, which stood still as well, has not been late. */
Test(time_limits, a_process_has_its_time_to_end_the_program_after_a_stall)
{
    program_with(LIMIT_WALL_TIME, 10000);
    fake_open(seat, 0);
    fake_node_pass(1000);
    still_clock_stall(&node.still, 60000);
    fake_node_pass(5900);
    cr_assert_eq(it->terminated_ns, 0);
    fake_node_pass(300);
    cr_assert_neq(it->terminated_ns, 0);
}
