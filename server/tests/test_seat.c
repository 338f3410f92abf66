/* SPDX-License-Identifier: Apache-2.0 */
/* A seat: what its process is told of the application, how long each may take, and how it is left.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/seats/seat_lending.h"
#include "server/tests/fake_node.h"

TestSuite(seat, .init = fake_node_start, .fini = fake_node_stop);

static struct control_application *it;
static struct seat *seat;
static struct fake_process *process;

static void take(bool ready)
{
    const struct tenant_terms lab = fake_terms("lab", 7);
    char why[300] = "";
    it = fake_application_of_user(&lab, "ann", NULL, 5);
    process = fake_spare();
    cr_assert_eq(control_application_start(it, CONF_DRIVER_SOFT, why, sizeof why), GA_OK);
    seat = it->seats[CONF_DRIVER_SOFT];
    if (ready) {
        fake_says_kind(seat, CHANNEL_READY);
    }
}

Test(seat, the_process_is_told_whose_it_is)
{
    take(false);
    const struct channel_application *told = &fake_told(process, CHANNEL_APPLICATION)->application;
    cr_assert_eq(told->seat, 0);
    cr_assert_eq(memcmp(told->id, it->id, sizeof told->id), 0);
    cr_assert_str_eq(told->bind_host, "127.0.0.9");
    cr_assert_str_eq(told->client, "127.0.0.1:9");
    cr_assert_str_eq(told->tenant_name, "lab");
    cr_assert_eq(told->tenant, it->tenant->number);
    cr_assert_str_eq(told->user, "ann");
    cr_assert_not(told->tls);
    cr_assert_eq(told->began_ns, 0);
    cr_assert_eq(told->gpu_count, FAKE_GPUS);
    cr_assert_eq(told->shown.of[LIMIT_GPUS], LIMIT_NONE);
    cr_assert_str_eq(it->label, "train (pid 5)");
    cr_assert_str_eq(it->way, "tcp");
}

Test(seat, what_the_process_says_first_holds)
{
    take(false);
    union channel_packet ready = {.ready = {.kind = CHANNEL_READY, .ways = 5}};
    strcpy(ready.ready.url, "tcp://h:1");
    strcpy(ready.ready.local, "shm:x");
    fake_says(seat, &ready);
    cr_assert(seat->ready);
    cr_assert_str_eq(seat->url, "tcp://h:1");
    cr_assert_str_eq(seat->local, "shm:x");
    cr_assert_eq(seat->ways, 5);
    strcpy(ready.ready.url, "tcp://evil:1");
    fake_says(seat, &ready);
    cr_assert_str_eq(seat->url, "tcp://h:1");
}

Test(seat, a_warm_process_has_three_seconds_and_a_cold_one_its_time)
{
    take(false);
    fake_node_pass(2999);
    cr_assert_eq(process->kills, 0);
    fake_node_pass(1);
    cr_assert_eq(process->kills, 1);
    cr_assert_str_eq(process->process.why, "the backend process has not answered");

    struct control_application *other = fake_application(&it->tenant->terms, 6);
    struct fake_process *cold = fake_spare();
    char why[300];
    cold->process.warm = false;
    node.conf.server.open_timeout_s = 20;
    cr_assert_eq(control_application_start(other, CONF_DRIVER_SOFT, why, sizeof why), GA_OK);
    fake_node_pass(19999);
    cr_assert_eq(cold->kills, 0);
    fake_node_pass(1);
    cr_assert_eq(cold->kills, 1);
    cr_assert_str_eq(cold->process.why, "the backend process is not ready in time");

    struct control_application *third = fake_application(&it->tenant->terms, 8);
    struct fake_process *warm = fake_spare();
    node.conf.server.open_timeout_s = 2;
    cr_assert_eq(control_application_start(third, CONF_DRIVER_SOFT, why, sizeof why), GA_OK);
    fake_node_pass(1999);
    cr_assert_eq(warm->kills, 0);
    fake_node_pass(1);
    cr_assert_eq(warm->kills, 1, "the shorter of both");
}

Test(seat, one_that_is_ready_has_no_time_limit)
{
    take(true);
    fake_node_pass(100000);
    cr_assert_eq(process->kills, 0);
}

Test(seat, its_session_began_when_it_opened_a_device_or_when_no_ticket_can_be_used_any_more)
{
    take(true);
    uint64_t taken = node.still.now_ns, ticket_ns = 10 * GA_NS_PER_S;
    cr_assert_eq(node.conf.server.backend.ticket_s, 10);
    cr_assert_eq(seat_began_ns(seat, taken + 2 * ticket_ns), 0);
    cr_assert_eq(seat_began_ns(seat, taken + 2 * ticket_ns + 1), taken + 2 * ticket_ns);
    fake_node_pass(4000);
    fake_open(seat, 1);
    cr_assert_eq(seat->bound_ns, node.still.now_ns);
    fake_node_pass(1000);
    fake_open(seat, 2);
    cr_assert_eq(seat_began_ns(seat, node.still.now_ns), taken + 4 * GA_NS_PER_S);
    cr_assert(gpu_set_has(seat->gpus, 1) && gpu_set_has(seat->gpus, 2));
    const union channel_packet none = {
        .claim = {.kind = CHANNEL_BOUND, .seat = 0, .gpu = FAKE_GPUS}};
    fake_says(seat, &none);
    cr_assert_eq(seat->gpus[0], 6, "there is no such GPU");
}

Test(seat, left_in_a_process_of_its_own_that_process_ends)
{
    take(true);
    control_application_abandon(it, seat);
    cr_assert_eq(process->ends, 1);
    cr_assert_null(fake_told(process, CHANNEL_LEAVE));
    fake_node_pass(20000);
    cr_assert_eq(process->kills, 0, "that is the process's affair");
    cr_assert_eq(
        seat_send(seat, &(struct channel_seat){.kind = CHANNEL_ALONE}, sizeof(struct channel_seat)),
        GA_LOST);
}

Test(seat, left_in_a_process_that_goes_on_the_process_is_told_and_has_ten_seconds)
{
    node.gpuaasd.processes.seats = 4;
    node.gpuaasd.processes.outlives = true;
    take(true);
    control_application_abandon(it, seat);
    cr_assert_eq(fake_told(process, CHANNEL_LEAVE)->seat.seat, 0);
    cr_assert_eq(process->ends, 0);
    fake_node_pass(9999);
    cr_assert_eq(process->kills, 0);
    fake_node_pass(1);
    cr_assert_eq(process->kills, 1);
    cr_assert_str_eq(process->process.why,
                     "the backend process has not ended the application in time");
}

Test(seat, a_process_that_goes_on_frees_the_seat)
{
    node.gpuaasd.processes.seats = 4;
    node.gpuaasd.processes.outlives = true;
    take(true);
    control_application_abandon(it, seat);
    process->process.seats[0]->ops->ended(process->process.seats[0], "it has ended");
    cr_assert_null(process->process.seats[0]);
    fake_node_pass(20000);
    cr_assert_eq(process->kills, 0);
}

Test(seat, in_a_full_channel_coming_and_leaving_wait_for_room)
{
    node.gpuaasd.processes.seats = 4;
    node.gpuaasd.processes.outlives = true;
    const struct tenant_terms lab = fake_terms("lab", 7);
    char why[300] = "";
    it = fake_application(&lab, 5);
    process = fake_spare();
    process->full = true;
    cr_assert_eq(control_application_start(it, CONF_DRIVER_SOFT, why, sizeof why), GA_OK);
    seat = it->seats[CONF_DRIVER_SOFT];
    cr_assert(seat->untold);
    const struct channel_notice notice = {.kind = CHANNEL_NOTICE};
    cr_assert_eq(seat_tell(seat, &notice, sizeof notice), GA_LOST, "it knows nothing of it yet");
    process->full = false;
    seat->base.ops->room(&seat->base);
    cr_assert_not(seat->untold);
    cr_assert_eq(fake_told_times(process, CHANNEL_APPLICATION), 1);
    cr_assert_eq(seat_tell(seat, &notice, sizeof notice), GA_OK);
    fake_says_kind(seat, CHANNEL_READY);
    process->full = true;
    control_application_abandon(it, seat);
    cr_assert_eq(process->ends, 0);
    cr_assert_null(fake_told(process, CHANNEL_LEAVE));
    process->full = false;
    seat->base.ops->room(&seat->base);
    cr_assert_eq(fake_told_times(process, CHANNEL_LEAVE), 1);
}

Test(seat, one_that_the_process_has_never_heard_of_is_gone_at_once)
{
    node.gpuaasd.processes.seats = 4;
    node.gpuaasd.processes.outlives = true;
    const struct tenant_terms lab = fake_terms("lab", 7);
    char why[300] = "";
    it = fake_application(&lab, 5);
    process = fake_spare();
    process->full = true;
    cr_assert_eq(control_application_start(it, CONF_DRIVER_SOFT, why, sizeof why), GA_OK);
    control_application_abandon(it, it->seats[CONF_DRIVER_SOFT]);
    cr_assert_null(process->process.seats[0]);
    cr_assert_eq(process->ends, 0);
    fake_node_pass(20000);
    cr_assert_eq(process->kills, 0);
}

Test(seat, a_program_that_is_alone_is_asked_after_every_three_seconds)
{
    take(true);
    fake_open(seat, 0);
    seat_watch(seat);
    cr_assert_eq(fake_told_times(process, CHANNEL_ALONE), 1);
    for (unsigned i = 0; i < 4; i++) {
        fake_says_kind(seat, CHANNEL_SERVED);
        fake_node_pass(3000);
    }
    cr_assert_eq(fake_told_times(process, CHANNEL_ALONE), 5);
    fake_node_pass(6000);
    cr_assert_eq(process->kills, 0);
    fake_node_pass(3000);
    cr_assert_eq(process->kills, 1, "it was silent three times");
    cr_assert_str_eq(process->process.why, "the backend process does not say whether its program "
                                           "is there, and nobody else can");
}

Test(seat, one_answer_is_enough_to_be_asked_three_times_again)
{
    take(true);
    seat_watch(seat);
    fake_node_pass(6000);
    fake_says_kind(seat, CHANNEL_SERVED);
    fake_node_pass(9000);
    cr_assert_eq(process->kills, 0);
    seat_watch_end(seat);
    fake_node_pass(30000);
    cr_assert_eq(process->kills, 0);
    cr_assert_eq(fake_told_times(process, CHANNEL_ALONE), 6);
}

Test(seat, when_served_is_remembered_once)
{
    take(true);
    cr_assert_eq(seat->served_ns, 0);
    fake_node_pass(500);
    fake_says_kind(seat, CHANNEL_SERVED);
    uint64_t first = node.still.now_ns;
    cr_assert_eq(seat->served_ns, first);
    fake_node_pass(500);
    fake_says_kind(seat, CHANNEL_SERVED);
    cr_assert_eq(seat->served_ns, first);
}

Test(seat, sessions_that_end_by_faults_count_for_the_health_of_the_gpu)
{
    take(true);
    struct health_check *health = &node.gpuaasd.processes.health[CONF_DRIVER_SOFT];
    atomic_store(&((struct figures *)(uintptr_t)seat->usage.figures)->fault, 700);
    fake_dies(process, "exit status 0");
    cr_assert_eq(health->faults, 0, "it has had no ticket, and so used no GPU");
    seat = fake_seat(it);
    process = fake_process_of(seat);
    fake_ticket(seat, 0);
    atomic_store(&((struct figures *)(uintptr_t)seat->usage.figures)->fault, 700);
    fake_dies(process, "exit status 0");
    cr_assert_eq(health->faults, 1);
}

Test(seat, an_offer_wants_room_for_a_context_and_a_byte)
{
    struct tenant_terms lab = fake_terms("lab", 7);
    lab.limits.of[LIMIT_GPU_MEM] = UINT64_C(1) << 40;
    it = fake_application(&lab, 5);
    seat = fake_seat(it);
    seat_offer(seat, 2);
    cr_assert_eq(it->tenant->lender.account.lent[CHANNEL_LENT_DEVICE], CHANNEL_GRAIN_BYTES);
    cr_assert_eq(fake_told_times(fake_process_of(seat), CHANNEL_REQUEST), 2);
    const struct channel_request *last =
        &fake_told(fake_process_of(seat), CHANNEL_REQUEST)->request;
    cr_assert_eq(last->verb, CHANNEL_ROOM, "behind the first piece");
    cr_assert_eq(last->address, 2);
    cr_assert_eq(last->bytes, UINT64_C(1) << 40);
}
