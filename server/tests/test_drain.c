/* SPDX-License-Identifier: Apache-2.0 */
/* Draining the node and single GPUs: who is refused, who is told what, when those that remain are
 * ended, and when the drain is done. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/applications/drain.h"
#include "server/tenants/refusal.h"
#include "server/tests/fake_node.h"

TestSuite(drain, .init = fake_node_start, .fini = fake_node_stop);

static struct tenant_terms lab;
static struct control_application *on_0, *on_1;
static struct fake_process *process_0, *process_1;

static void two_programs(void)
{
    lab = fake_terms("lab", 1);
    on_0 = fake_application(&lab, 1);
    on_1 = fake_application(&lab, 2);
    struct seat *seat_0 = fake_seat(on_0), *seat_1 = fake_seat(on_1);
    fake_open(seat_0, 0);
    fake_ticket(seat_1, 1);
    process_0 = fake_process_of(seat_0);
    process_1 = fake_process_of(seat_1);
}

static void begin(uint32_t gpu, const char *reason, uint64_t deadline_s)
{
    char why[200] = "";
    cr_assert_eq(drain_begin(&node.gpuaasd.applications, gpu, reason, deadline_s, why, sizeof why),
                 GA_OK, "%s", why);
}

static void assert_refused(uint32_t gpu, int32_t result, const char *why)
{
    struct refusal refusal;
    cr_assert(drain_refuses(&node.gpuaasd.applications, gpu, &refusal));
    cr_assert_eq(refusal.reason, REFUSAL_DRAIN);
    cr_assert_eq(refusal.result, result);
    cr_assert_str_eq(refusal.why, why);
}

static bool refuses(uint32_t gpu)
{
    struct refusal unused;
    return drain_refuses(&node.gpuaasd.applications, gpu, &unused);
}

static const char *notice_of(const struct fake_process *process, enum wire_notice kind)
{
    const union channel_packet *packet = fake_told(process, CHANNEL_NOTICE);
    return packet != NULL && packet->notice.notice == kind ? packet->notice.text : "";
}

Test(drain, new_programs_are_refused_by_the_node_with_another_error_than_by_a_gpu)
{
    cr_assert_not(refuses(DRAIN_NODE) || refuses(0) || refuses(1));
    begin(1, "new fans", 0);
    assert_refused(1, CUDA_ERROR_DEVICE_UNAVAILABLE,
                   "GPU 11 of this server takes no new programs: new fans");
    cr_assert_not(refuses(DRAIN_NODE) || refuses(0) || refuses(2));
    begin(DRAIN_NODE, "we move", 0);
    assert_refused(DRAIN_NODE, CUDA_ERROR_NO_DEVICE, "this server takes no new programs: we move");
    cr_assert_not(refuses(0));
}

Test(drain, the_programs_of_that_gpu_are_told_and_no_others)
{
    two_programs();
    begin(1, "new fans", 0);
    cr_assert_str_eq(notice_of(process_1, WIRE_NOTICE_NOTE),
                     "GPU 11 of this server takes no new programs (new fans); this program uses "
                     "it: it may go on to its end");
    cr_assert_null(fake_told(process_0, CHANNEL_NOTICE));
    begin(DRAIN_NODE, "we move", 90);
    cr_assert_str_eq(notice_of(process_0, WIRE_NOTICE_NOTE),
                     "this server takes no new programs (we move); this program uses it: it may go "
                     "on for 90 s");
    cr_assert_str_eq(notice_of(process_1, WIRE_NOTICE_NOTE),
                     notice_of(process_0, WIRE_NOTICE_NOTE));
    cr_assert_str_eq(node.line, "draining");
}

Test(drain, a_reason_and_a_gpu_that_there_is_are_needed)
{
    char why[200], longest[DRAIN_REASON_BYTES + 1];
    cr_assert_eq(drain_begin(&node.gpuaasd.applications, FAKE_GPUS, "fans", 0, why, sizeof why),
                 GA_INVALID);
    cr_assert_str_eq(why, "there is no such GPU");
    cr_assert_eq(drain_end(&node.gpuaasd.applications, FAKE_GPUS, why, sizeof why), GA_INVALID);
    cr_assert_str_eq(why, "there is no such GPU");
    cr_assert_eq(drain_begin(&node.gpuaasd.applications, 0, "", 0, why, sizeof why), GA_INVALID);
    cr_assert_str_eq(why, "a reason for the programs' users is needed, of 1 to 159 characters");
    memset(longest, 'x', sizeof longest);
    longest[DRAIN_REASON_BYTES] = 0;
    cr_assert_eq(drain_begin(&node.gpuaasd.applications, 0, longest, 0, why, sizeof why),
                 GA_INVALID);
    longest[DRAIN_REASON_BYTES - 1] = 0;
    cr_assert_not(refuses(0));
    begin(FAKE_GPUS - 1, longest, 0);
    cr_assert_str_eq(drain_of(&node.gpuaasd.applications, FAKE_GPUS - 1)->reason, longest);
}

Test(drain, it_is_done_when_the_last_program_has_left_the_gpu)
{
    two_programs();
    begin(0, "new fans", 0);
    fake_node_pass(5000);
    cr_assert_eq(drain_of(&node.gpuaasd.applications, 0)->state, DRAIN_GOING);
    control_application_end(on_0);
    still_clock_pass(&node.still, 0);
    cr_assert_eq(drain_of(&node.gpuaasd.applications, 0)->state, DRAIN_DONE, "it looks at once");
    cr_assert_str_eq(node.line, "GPU 10 of this server is drained: no program uses it (new fans)");
    assert_refused(0, CUDA_ERROR_DEVICE_UNAVAILABLE,
                   "GPU 10 of this server takes no new programs: new fans");
    cr_assert_eq(node.emptied, 0);
    cr_assert_eq(drain_of(&node.gpuaasd.applications, 1)->state, DRAIN_NONE);
    cr_assert_not(node.gpuaasd.applications.drains.timer.runs, "there is nothing left to look at");
}

Test(drain, a_drain_without_programs_is_done_at_once)
{
    begin(DRAIN_NODE, "we move", 100);
    cr_assert_str_eq(node.line, "draining");
    still_clock_pass(&node.still, 0);
    cr_assert_eq(drain_of(&node.gpuaasd.applications, DRAIN_NODE)->state, DRAIN_DONE);
    cr_assert_str_eq(node.line, "this server is drained: no program uses it (we move)");
    cr_assert_eq(node.emptied, 0, "gpuaasd goes on");
    cr_assert_eq(node.goes_on_us, 0);
}

Test(drain, programs_are_ended_at_the_deadline_and_not_before)
{
    two_programs();
    begin(0, "new fans", 7);
    fake_node_pass(6999);
    cr_assert_eq(on_0->terminated_ns, 0);
    fake_node_pass(2);
    cr_assert_neq(on_0->terminated_ns, 0);
    cr_assert_eq(on_0->closes, APPLICATION_DRAINED);
    cr_assert_eq(on_0->terminated_result, CUDA_ERROR_DEVICE_UNAVAILABLE);
    cr_assert_str_eq(on_0->terminated_why, "GPU 10 of this server is taken out of service (new "
                                           "fans), and the time to end is up");
    cr_assert_str_eq(notice_of(process_0, WIRE_NOTICE_END), on_0->terminated_why);
    cr_assert_eq(on_1->terminated_ns, 0);
    cr_assert_null(fake_told(process_1, CHANNEL_NOTICE));
}

Test(drain, begun_again_it_takes_the_new_reason_and_deadline)
{
    two_programs();
    begin(0, "new fans", 3);
    fake_node_pass(2000);
    begin(0, "a fire", 30);
    fake_node_pass(20000);
    cr_assert_eq(on_0->terminated_ns, 0);
    begin(0, "a fire", 0);
    fake_node_pass(60000);
    cr_assert_eq(on_0->terminated_ns, 0, "without a deadline it may go on");
    assert_refused(0, CUDA_ERROR_DEVICE_UNAVAILABLE,
                   "GPU 10 of this server takes no new programs: a fire");
}

Test(drain, the_end_of_a_drain_lets_programs_in_again)
{
    char why[200];
    two_programs();
    begin(0, "new fans", 3);
    cr_assert_eq(drain_end(&node.gpuaasd.applications, 0, why, sizeof why), GA_OK);
    cr_assert_str_eq(node.line, "serving");
    cr_assert_not(refuses(0));
    fake_node_pass(5000);
    cr_assert_eq(on_0->terminated_ns, 0, "there is no deadline any more");
    node.line[0] = 0;
    cr_assert_eq(drain_end(&node.gpuaasd.applications, 0, why, sizeof why), GA_OK);
    cr_assert_str_eq(node.line, "", "nothing has changed");
}

Test(drain, gpuaasd_ends_when_the_node_is_empty_and_says_that_it_goes_on_until_then)
{
    char why[200];
    two_programs();
    drain_and_stop(&node.gpuaasd.applications, "an update", 60);
    assert_refused(DRAIN_NODE, CUDA_ERROR_NO_DEVICE,
                   "this server takes no new programs: an update");
    cr_assert_eq(drain_end(&node.gpuaasd.applications, DRAIN_NODE, why, sizeof why), GA_CONFLICT);
    cr_assert_str_eq(why, "gpuaasd is ending");
    cr_assert(refuses(DRAIN_NODE));
    fake_node_pass(200);
    cr_assert_eq(node.goes_on_us, 10000000, "twice as long as until it says so again");
    for (unsigned i = 0; i < 3; i++) {
        node.goes_on_us = 0;
        fake_node_pass(5000);
        cr_assert_eq(node.goes_on_us, 10000000);
    }
    control_application_end(on_0);
    fake_node_pass(100);
    cr_assert_eq(node.emptied, 0);
    control_application_end(on_1);
    fake_node_pass(100);
    cr_assert_eq(node.emptied, 1);
}

Test(drain, without_a_deadline_gpuaasd_ends_programs_at_once)
{
    two_programs();
    drain_and_stop(&node.gpuaasd.applications, "the machine is going down", 0);
    cr_assert_str_eq(notice_of(process_0, WIRE_NOTICE_END), "the machine is going down");
    cr_assert_str_eq(notice_of(process_1, WIRE_NOTICE_END), "the machine is going down");
    cr_assert_eq(on_1->closes, APPLICATION_DRAINED);
    cr_assert_eq(on_1->terminated_result, CUDA_ERROR_DEVICE_UNAVAILABLE);
    cr_assert(refuses(DRAIN_NODE));
    fake_node_pass(2200);
    cr_assert_eq(node.emptied, 1);
    cr_assert(ga_list_empty(&node.gpuaasd.applications.all));
}
