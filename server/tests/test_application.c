/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an application: how it is found, what its connections hear of its seats, how it goes
 * on without a connection and is found again, and as what its end is counted. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "server/applications/scheduling_terms.h"
#include "server/applications/status_sink.h"
#include "server/applications/terminate.h"
#include "server/tenants/refusal.h"
#include "server/tests/fake_node.h"
#include "server/turns/scheduler.h"

TestSuite(application, .init = fake_node_start, .fini = fake_node_stop);

static struct tenant_terms lab;
static struct control_application *it;
static struct seat *seat;
static struct fake_process *process;
static struct fake_client *client;

static void program(void)
{
    lab = fake_terms("lab", 1);
    it = fake_application(&lab, 1);
    client = fake_client(it);
    seat = fake_seat(it);
    process = fake_process_of(seat);
    client->answers = client->flushes = 0;
    client->waits = true;
    client->seat = NULL;
}

static void assert_answered(int32_t result, const char *reason)
{
    cr_assert_eq(client->answers, 1);
    cr_assert_eq(client->result, result);
    cr_assert_str_eq(client->reason, reason);
    cr_assert_eq(client->seat, seat);
    cr_assert_eq(client->flushes, 1);
}

/* ---- ids */

Test(application, an_id_is_of_one_application_at_a_time)
{
    program();
    struct control_application *rival = fake_greeting(1, 0);
    cr_assert_eq(control_application_find(&node.gpuaasd.applications, it->id), it);
    cr_assert_not(control_application_admit(rival, it->tenant));
    uint8_t near[16];
    memcpy(near, it->id, sizeof near);
    near[15]++; /* of the same number */
    cr_assert_null(control_application_find(&node.gpuaasd.applications, near));
    control_application_end(it);
    cr_assert_null(control_application_find(&node.gpuaasd.applications, rival->id));
    struct tenant *tenant = tenant_find(&node.gpuaasd.applications.tenants, &lab);
    cr_assert(control_application_admit(rival, tenant));
    tenant_drop(tenant);
    cr_assert_eq(control_application_find(&node.gpuaasd.applications, rival->id), rival);
}

Test(application, one_that_only_looks_is_not_found)
{
    program();
    struct control_application *looks = fake_greeting(1, HANDSHAKE_HELLO_OBSERVER);
    cr_assert(control_application_admit(looks, it->tenant));
    cr_assert_eq(control_application_find(&node.gpuaasd.applications, it->id), it);
    control_application_end(looks);
    cr_assert_eq(control_application_find(&node.gpuaasd.applications, it->id), it);
}

/* ---- what its connections hear */

Test(application, a_seat_that_is_ready_or_has_failed_answers_those_that_wait)
{
    program();
    fake_says_kind(seat, CHANNEL_READY);
    assert_answered(0, "");
    client->answers = client->flushes = 0;
    union channel_packet failed = {
        .failed = {.kind = CHANNEL_FAILED, .seat = 0, .result = CUDA_ERROR_NO_DEVICE}};
    strcpy(failed.failed.reason, "the driver is gone");
    fake_says(seat, &failed);
    assert_answered(CUDA_ERROR_NO_DEVICE, "the driver is gone");
    cr_assert_str_eq(process->process.why, "the driver is gone");
}

Test(application, when_its_process_dies_those_that_wait_hear_why)
{
    program();
    fake_dies(process, "killed by signal 9");
    assert_answered(CUDA_ERROR_DEVICE_UNAVAILABLE, "killed by signal 9");
    cr_assert_not(control_application_has_seat(it));
    cr_assert_eq(it->closes, APPLICATION_CRASHES);
}

Test(application, for_a_spare_that_never_answered_another_is_tried)
{
    char why[300];
    lab = fake_terms("lab", 1);
    it = fake_application(&lab, 1);
    client = fake_client(it);
    process = fake_spare();
    cr_assert_eq(control_application_start(it, CONF_DRIVER_SOFT, why, sizeof why), GA_OK);
    struct fake_process *next = fake_spare();
    client->waits = true;
    seat = it->seats[CONF_DRIVER_SOFT];
    fake_dies(process, "killed by signal 9");
    cr_assert_not_null(fake_told(next, CHANNEL_APPLICATION));
    cr_assert_eq(it->closes, APPLICATION_LEAVES, "that was not the program's crash");
    seat = it->seats[CONF_DRIVER_SOFT];
    cr_assert_eq(seat->process, &next->process);
    client->waits = true;
    client->answers = 0;
    client->seat = NULL;
    client->flushes = 0;
    fake_dies(next, "killed by signal 9");
    cr_assert_eq(client->answers, 1);
    cr_assert_str_eq(client->reason, "no process can be started");
}

Test(application, where_no_process_can_be_had_it_says_why)
{
    char why[300] = "";
    lab = fake_terms("lab", 1);
    it = fake_application(&lab, 1);
    cr_assert_eq(control_application_start(it, CONF_DRIVER_SOFT, why, sizeof why), GA_LOST);
    cr_assert_str_eq(why, "no process can be started");
    process = fake_spare();
    process->process.fd = -1; /* it is dying */
    struct fake_process *next = fake_spare();
    cr_assert_eq(control_application_start(it, CONF_DRIVER_SOFT, why, sizeof why), GA_OK);
    cr_assert_eq(it->seats[CONF_DRIVER_SOFT]->process, &next->process);
    cr_assert_geq(process->ends, 1);
}

Test(application, room_in_the_channel_is_for_those_that_wait)
{
    program();
    seat->base.ops->room(&seat->base);
    assert_answered(0, "");
}

Test(application, a_process_that_is_idle_is_left_unless_a_ticket_is_on_its_way)
{
    program();
    fake_ticket(seat, 0);
    union channel_packet idle = {.idle = {.kind = CHANNEL_IDLE, .seat = 0, .tickets = 0}};
    client->waits = false;
    fake_says(seat, &idle);
    cr_assert_eq(process->ends, 0, "it has not seen that ticket");
    idle.idle.tickets = 1;
    client->waits = true;
    fake_says(seat, &idle);
    cr_assert_eq(process->ends, 0, "somebody waits for it");
    client->waits = false;
    client->flushes = 0;
    fake_says(seat, &idle);
    cr_assert_eq(process->ends, 1);
    cr_assert_null(it->seats[CONF_DRIVER_SOFT]);
    cr_assert_eq(client->flushes, 1);
}

Test(application, opens_that_wait_for_claims_are_decided_again)
{
    program();
    cr_assert_not(control_application_open_again(it));
    cr_assert_eq(client->answers, 0);
    client->waits_for_claims = true;
    cr_assert(control_application_open_again(it));
    assert_answered(0, "");
    seat->ready = false;
    cr_assert(control_application_open_again(it));
    cr_assert_eq(client->answers, 1, "the seat is not ready");
}

/* ---- without a connection */

static void lose_connection(void)
{
    ga_list_remove(&client->base.beside);
    control_application_left(it);
}

Test(application, a_program_whose_connection_is_lost_goes_on_while_it_is_served)
{
    program();
    fake_open(seat, 0);
    fake_says_kind(seat, CHANNEL_SERVED);
    control_application_lost(it, APPLICATION_RESET);
    lose_connection();
    cr_assert(it->alone);
    cr_assert_eq(node.gpuaasd.applications.alone_count, 1);
    cr_assert_eq(fake_told_times(process, CHANNEL_ALONE), 1);
    cr_assert_eq(process->ends, 0);
    fake_dies(process, "exit status 0");
    cr_assert_eq(node.gpuaasd.applications.alone_count, 0);
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_RESET], 1);
    cr_assert(ga_list_empty(&node.gpuaasd.applications.all));
}

Test(application, one_that_is_not_served_ends_with_its_connection)
{
    program();
    lose_connection();
    cr_assert_not(it->alone);
    cr_assert_eq(process->ends, 1);
    cr_assert(ga_list_empty(&node.gpuaasd.applications.all));
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_LEAVES], 0, "it had no session");
}

Test(application, a_ticket_may_have_been_used_already)
{
    program();
    fake_ticket(seat, 0);
    lose_connection();
    cr_assert(it->alone, "the process is asked");
    cr_assert_eq(fake_told_times(process, CHANNEL_ALONE), 1);
}

Test(application, while_gpuaasd_ends_nobody_goes_on_alone)
{
    program();
    fake_open(seat, 0);
    node.gpuaasd.applications.stopping = true;
    lose_connection();
    cr_assert_eq(process->ends, 1);
    cr_assert(ga_list_empty(&node.gpuaasd.applications.all));
}

Test(application, what_its_process_has_said_already_is_heard_first)
{
    program();
    process->unread = (union channel_packet){.claim = {.kind = CHANNEL_BOUND, .seat = 0, .gpu = 1}};
    fake_ticket(seat, 1);
    control_application_end(it);
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_LEAVES], 1, "it had a session");
}

Test(application, one_that_comes_again_is_the_same)
{
    program();
    fake_open(seat, 0);
    fake_says_kind(seat, CHANNEL_SERVED);
    struct control_application *again = fake_greeting(1, 0);
    cr_assert_null(control_application_rejoin(again, it->tenant), "it is not alone");
    control_application_lost(it, APPLICATION_SILENT);
    lose_connection();
    struct tenant_terms other = fake_terms("other", 2);
    struct tenant *others = tenant_find(&node.gpuaasd.applications.tenants, &other);
    cr_assert_null(control_application_rejoin(again, others));
    again->tls = true;
    cr_assert_null(control_application_rejoin(again, it->tenant));
    again->tls = false;
    again->owner.kind = OWNER_USER;
    cr_assert_null(control_application_rejoin(again, it->tenant));
    again->owner.kind = it->owner.kind;
    struct control_application *stranger = fake_greeting(2, 0);
    cr_assert_null(control_application_rejoin(stranger, it->tenant));
    unsigned users = it->users;
    cr_assert_eq(control_application_rejoin(again, it->tenant), it);
    cr_assert_eq(it->users, users, "a use for the caller, and none for its being alone");
    cr_assert_not(it->alone);
    cr_assert_eq(node.gpuaasd.applications.alone_count, 0);
    cr_assert_eq(it->closes, APPLICATION_LEAVES, "it is here again");
    fake_node_pass(60000);
    cr_assert_eq(process->kills, 0, "its process is not asked any more");
    cr_assert_eq(fake_told_times(process, CHANNEL_ALONE), 1);
    control_application_drop(it);
    tenant_drop(others);
}

/* ---- its end */

Test(application, the_first_loss_counts_and_only_if_nothing_else_has_ended_it)
{
    program();
    fake_open(seat, 0);
    control_application_lost(it, APPLICATION_RESET);
    control_application_lost(it, APPLICATION_SILENT);
    cr_assert_eq(it->closes, APPLICATION_SILENT);
    it->closes = APPLICATION_SPENT;
    control_application_lost(it, APPLICATION_RESET);
    cr_assert_eq(it->closes, APPLICATION_SPENT);
    control_application_end(it);
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_SPENT], 1);
}

Test(application, a_process_that_ends_by_itself_is_a_crash_unless_it_is_done)
{
    program();
    fake_open(seat, 0);
    fake_dies(process, "exit status 0");
    cr_assert_eq(it->closes, APPLICATION_LEAVES);
    seat = fake_seat(it);
    fake_dies(fake_process_of(seat), "exit status 1");
    cr_assert_eq(it->closes, APPLICATION_CRASHES);
    it->closes = APPLICATION_LEAVES;
    seat = fake_seat(it);
    atomic_store(&((struct figures *)(uintptr_t)seat->usage.figures)->silent, 1);
    fake_dies(fake_process_of(seat), "exit status 0");
    cr_assert_eq(it->closes, APPLICATION_SILENT);
    terminate_application(it, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, "enough");
    seat = fake_seat(it);
    fake_dies(fake_process_of(seat), "exit status 1");
    cr_assert_eq(it->closes, APPLICATION_KILLED, "it was ended");
}

Test(application, all_end_with_gpuaasd)
{
    program();
    (void)fake_application(&lab, 2);
    fake_open(seat, 0);
    control_applications_end(&node.gpuaasd.applications);
    cr_assert(ga_list_empty(&node.gpuaasd.applications.all));
    cr_assert_eq(node.gpuaasd.applications.closed[APPLICATION_LEAVES], 1);
    cr_assert_eq(process->ends, 1);
}

/* ---- what is counted */

Test(application, sessions_and_refusals_are_counted_for_its_tenant)
{
    struct refusal refusal;
    program();
    fake_open(seat, 0);
    fake_open(seat, 1);
    const struct totals_tenant *totals = totals_of(&node.gpuaasd.usage.totals, "lab");
    cr_assert_eq(totals->sessions, 1);
    (void)!refusal_limit(&refusal, LIMIT_GPUS, "no more");
    control_application_refused(it, &refusal);
    (void)!refusal_set(&refusal, REFUSAL_DRAIN, CUDA_ERROR_NO_DEVICE, "drained");
    control_application_refused(it, &refusal);
    cr_assert_eq(totals->refused[LIMIT_GPUS], 1);
    cr_assert_eq(totals->refused[0], 0);
}

Test(application, its_session_begins_when_it_opens_a_device)
{
    program();
    uint64_t now = node.still.now_ns;
    cr_assert_eq(control_application_began(it, now), 0);
    cr_assert_not(it->session);
    fake_open(seat, 0);
    cr_assert_eq(it->began_ns, now);
    cr_assert(it->session);
    fake_node_pass(3000);
    cr_assert_eq(control_application_began(it, node.still.now_ns), now);
}

Test(application, a_gpu_is_used_from_the_first_ticket_on)
{
    program();
    cr_assert_not(control_application_uses(it, 0));
    fake_ticket(seat, 0);
    fake_open(seat, 2);
    cr_assert(control_application_uses(it, 0) && control_application_uses(it, 2));
    cr_assert_not(control_application_uses(it, 1));
}

static struct status_application told;
static uint64_t told_gpus, told_bytes[FAKE_GPUS];
static struct status_gpu told_gpu;
static struct seat_use told_use;
static unsigned told_count, told_gpu_count;

static void take(void *user, const struct status_application *application)
{
    (void)user;
    told = *application;
    told_gpus = application->gpus[0];
    memcpy(told_bytes, application->gpu_bytes, sizeof told_bytes);
    told_count++;
}

static void take_gpu(void *user, const struct status_application *application,
                     const struct status_gpu *gpu)
{
    (void)user, (void)application;
    told_gpu = *gpu;
    told_use = *gpu->use;
    told_gpu_count++;
}

Test(application, the_status_has_what_it_uses)
{
    program();
    struct figures_page *page = (struct figures_page *)(uintptr_t)process->process.figures;
    fake_node_pass(2000);
    fake_open(seat, 0);
    fake_open(seat, 2);
    fake_node_pass(500);
    atomic_store(&page->memory[0][2].bytes, 4096);
    atomic_store(&page->seats[0].of[FIGURE_DEVICE_BYTES], 4096);
    atomic_store(&page->seats[0].of[FIGURE_HOST_BYTES], 100);
    atomic_store(&page->seats[0].driver_bytes, 11);
    atomic_store(&page->seats[0].of[FIGURE_STREAMS], 7);
    atomic_store(&page->seats[0].gpus[0].gpu, 2 + 1);
    atomic_store(&page->seats[0].gpus[0].works, 9);
    (void)control_application_admit(fake_greeting(9, HANDSHAKE_HELLO_OBSERVER), it->tenant);
    const struct status_sink sink = {.application = take, .gpu = take_gpu};
    control_application_status(&node.gpuaasd.applications, &sink);
    cr_assert_eq(told_count, 1, "one that only looks is not shown");
    cr_assert_eq(told.id, it->id);
    cr_assert_str_eq(told.tenant, "lab");
    cr_assert_eq(told.tenant_number, 1);
    cr_assert_str_eq(told.user, "");
    cr_assert_eq(told.connections, 1);
    cr_assert_eq(told.processes, 1);
    cr_assert_eq(told.age_ns, 2500 * GA_NS_PER_MS);
    cr_assert_eq(told.wall_ns, 500 * GA_NS_PER_MS);
    cr_assert(told.session && !told.ending);
    cr_assert_str_eq(told.way, "tcp");
    cr_assert_eq(told_gpus, 5);
    cr_assert(told_bytes[0] == 0 && told_bytes[2] == 4096);
    cr_assert_eq(told.figures[FIGURE_DEVICE_BYTES], 4096);
    cr_assert_eq(told.figures[FIGURE_HOST_BYTES], 111);
    cr_assert_eq(told.figures[FIGURE_STREAMS], 7);
    cr_assert_eq(told_gpu_count, 1);
    cr_assert_eq(told_gpu.uuid[0], 0xa2);
    cr_assert_eq(told_use.gpu, 2);
    cr_assert_eq(told_use.works, 9);
    cr_assert_null(told_gpu.turns);
    terminate_application(it, APPLICATION_KILLED, CUDA_ERROR_NOT_PERMITTED, "enough");
    control_application_status(&node.gpuaasd.applications, &sink);
    cr_assert(told.ending);
}

/* ---- what the scheduler is told */

Test(application, limits_of_the_tenant_are_terms_of_scheduling_where_it_is_known)
{
    struct scheduler_terms terms;
    program();
    terms = scheduling_terms_of(it);
    cr_assert_eq(terms.weight, 100, "whoever it is");
    cr_assert_eq(scheduling_tenant_of(it), (UINT64_C(1) << 63) + it->alone_number);
    struct control_application *other = fake_application(&lab, 2);
    cr_assert_neq(scheduling_tenant_of(other), scheduling_tenant_of(it));

    node.conf.server.auth = true;
    terms = scheduling_terms_of(it);
    cr_assert_eq(scheduling_tenant_of(it), 1);
    cr_assert_eq(terms.weight, 100);
    cr_assert_eq(terms.priority + terms.cap_percent + terms.throttle_percent + terms.goal_ns, 0);
    uint64_t *limits = it->tenant->terms.limits.of;
    limits[LIMIT_SHARE] = 7;
    limits[LIMIT_PRIORITY] = 3;
    limits[LIMIT_COMPUTE_CAP] = 40;
    limits[LIMIT_THROTTLE] = 20;
    limits[LIMIT_LATENCY_GOAL] = 5;
    terms = scheduling_terms_of(it);
    cr_assert_eq(terms.weight, 7);
    cr_assert_eq(terms.priority, 3);
    cr_assert_eq(terms.cap_percent, 40);
    cr_assert_eq(terms.throttle_percent, 0, "it has time left");
    cr_assert_eq(terms.goal_ns, 5 * GA_NS_PER_MS);
    it->tenant->throttled = true;
    cr_assert_eq(scheduling_terms_of(it).throttle_percent, 20);
}
