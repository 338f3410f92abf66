/* SPDX-License-Identifier: Apache-2.0 */
/* Ending a program by force: it is told first, then its backend processes end, and at last its
 * control connections. */
#include <criterion/criterion.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/applications/terminate.h"
#include "server/tests/fake_node.h"

TestSuite(terminate, .init = fake_node_start, .fini = fake_node_stop);

Test(terminate, a_program_is_told_then_its_processes_end_then_its_connections)
{
    const struct tenant_terms lab = fake_terms("lab", 1);
    struct control_application *it = fake_application(&lab, 1), *other = fake_application(&lab, 2);
    struct seat *seat = fake_seat(it);
    struct fake_process *process = fake_process_of(seat),
                        *others = fake_process_of(fake_seat(other));
    struct fake_client *client = fake_client(it), *second = fake_client(it);
    fake_open(seat, 0);
    terminate_application(it, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, "an admin ended it");
    const union channel_packet *told = fake_told(process, CHANNEL_NOTICE);
    cr_assert_not_null(told);
    cr_assert_eq(told->notice.notice, WIRE_NOTICE_END);
    cr_assert_eq(told->notice.seat, seat->number);
    cr_assert_str_eq(told->notice.text, "an admin ended it");
    cr_assert_eq(it->terminated_result, CUDA_ERROR_NOT_PERMITTED);
    cr_assert_eq(process->ends, 0);
    fake_node_pass(1400);
    cr_assert_eq(process->ends, 0);
    cr_assert(control_application_has_seat(it));
    fake_node_pass(100);
    cr_assert_eq(process->ends, 1);
    cr_assert_not(control_application_has_seat(it));
    cr_assert_eq(client->closes + second->closes, 0);
    fake_node_pass(400);
    cr_assert_eq(client->closes + second->closes, 0);
    cr_assert_not_null(control_application_find(&node.gpuaasd.applications, it->id));
    uint8_t id[16];
    memcpy(id, it->id, sizeof id);
    fake_node_pass(100);
    cr_assert_eq(client->closes, 1);
    cr_assert_eq(second->closes, 1);
    cr_assert_null(control_application_find(&node.gpuaasd.applications, id));
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_KILLED], 1);
    cr_assert_eq(others->ends, 0);
    cr_assert_null(fake_told(others, CHANNEL_NOTICE));
    cr_assert_eq(other->terminated_ns, 0);
    fake_node_pass(200);
    cr_assert_not(node.gpuaasd.applications.terminations.runs, "nobody is left to look at");
}

Test(terminate, the_first_reason_holds)
{
    const struct tenant_terms lab = fake_terms("lab", 1);
    struct control_application *it = fake_application(&lab, 1);
    struct fake_process *process = fake_process_of(fake_seat(it));
    terminate_application(it, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, "first");
    fake_node_pass(500);
    terminate_application(it, APPLICATION_SPENT, CUDA_ERROR_LAUNCH_FAILED, "second");
    cr_assert_str_eq(it->terminated_why, "first");
    cr_assert_eq(it->closes, APPLICATION_KILLED);
    cr_assert_eq(it->terminated_result, CUDA_ERROR_NOT_PERMITTED);
    cr_assert_eq(fake_told_times(process, CHANNEL_NOTICE), 1);
    fake_node_pass(1000);
    cr_assert_eq(process->ends, 1, "the time of the first counts");
}

Test(terminate, a_notice_is_a_line_and_ends_nothing)
{
    const struct tenant_terms lab = fake_terms("lab", 1);
    struct control_application *it = fake_application(&lab, 1);
    struct fake_process *process = fake_process_of(fake_seat(it));
    application_notice(it, "lunch");
    const union channel_packet *told = fake_told(process, CHANNEL_NOTICE);
    cr_assert_eq(told->notice.notice, WIRE_NOTICE_NOTE);
    cr_assert_str_eq(told->notice.text, "lunch");
    fake_node_pass(5000);
    cr_assert_eq(process->ends, 0);
    application_notice(fake_application(&lab, 2), "lunch"); /* which uses no device */
}

/* ---- programs that have gone */

static struct control_application *gone;
static struct seat *gone_seat;

/* Its control connection has ended, and gpuaasd does not know yet whether the program is there. */
static void begin_gone(void)
{
    const struct tenant_terms lab = fake_terms("lab", 1);
    gone = fake_application(&lab, 1);
    gone_seat = fake_seat(gone);
    fake_open(gone_seat, 0);
    control_application_left(gone);
    cr_assert(control_application_seems_gone(gone));
    terminate_application(gone, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, "an admin ended it");
}

Test(terminate, a_program_that_has_gone_has_ended_by_itself)
{
    begin_gone();
    cr_assert_str_eq(gone_seat->events->reason(gone_seat), "");
    fake_dies(fake_process_of(gone_seat), "exit status 0");
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_KILLED], 0);
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_LEAVES], 1);
}

Test(terminate, a_program_that_only_seemed_gone_is_ended)
{
    begin_gone();
    fake_says_kind(gone_seat, CHANNEL_SERVED);
    cr_assert_str_eq(gone_seat->events->reason(gone_seat), "an admin ended it");
    fake_dies(fake_process_of(gone_seat), "exit status 0");
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_KILLED], 1);
}

Test(terminate, a_process_that_does_not_go_with_its_program_is_ended)
{
    begin_gone();
    fake_node_pass(1400);
    cr_assert_str_eq(gone_seat->events->reason(gone_seat), "");
    fake_node_pass(100);
    cr_assert_eq(fake_process_of(gone_seat)->ends, 1);
    cr_assert_eq(gone->closes, APPLICATION_KILLED);
}

Test(terminate, a_program_that_goes_when_it_is_told_has_been_ended)
{
    const struct tenant_terms lab = fake_terms("lab", 1);
    struct control_application *told = fake_application(&lab, 1);
    struct seat *seat = fake_seat(told);
    fake_open(seat, 0);
    terminate_application(told, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, "an admin ended it");
    control_application_left(told);
    cr_assert(control_application_seems_gone(told));
    cr_assert_str_eq(seat->events->reason(seat), "an admin ended it");
    fake_dies(fake_process_of(seat), "exit status 0");
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_KILLED], 1);
}
