/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of a session under a policy: when it passes, asks, and returns its turn. The test
 * grants, and says how much work is in flight. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/conn/conn.h"
#include "server/conn/copy_room.h"
#include "server/conn/rate_wait.h"
#include "server/gate/gate.h"
#include "server/gate/turn_gate.h"
#include "server/meter/meter.h"
#include "server/meter/meter_batch.h"
#include "server/meter/meter_gpu.h"
#include "server/tests/fake_ledger.h"

#define HOUR (3600 * GA_NS_PER_S)

static struct grant_request request;
static struct grant grant;
static struct gate_bell bell;
static int our_bell;
static struct server_session session = {.number = 1};
static const struct server_host host = {.client = "192.0.2.7:1"};
static struct transport_conn nowhere;
static struct server_conn *conn;
static struct meter_gpu *gpu;
static struct gate *gate;

static void start(void)
{
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    our_bell = ends[0];
    bell = (struct gate_bell){.fd = ends[1]};
    conn = calloc(1, sizeof *conn);
    conn->app = calloc(1, sizeof *conn->app);
    conn->app->carrier = &conn_carrier;
    conn->app->carried_by = conn;
    conn->app->host = &host;
    conn->app->ledger = &fake_ledger;
    send_queue_init(&conn->out, &nowhere, &conn->staging);
    staging_init(&conn->staging, NULL, &fake_ledger, 1 << 20, 0);
    pthread_mutex_init(&conn->job_lock, NULL);
    pthread_mutex_init(&conn->host_calls.lock, NULL);
    ga_list_init(&conn->jobs);
    conn->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    completer_init(&conn->completer, conn);
    meter_init(&conn->app->meter, true, false);
    conn->app->sessions[1] = &session;
    turn_gate_init(&session.turn, &request, &grant, &bell, 0);
    gate_set(conn->app, &session, &session.turn.base);
    gate = session.gate;
    gpu = meter_gpu_find(conn->app, 0);
    cr_assert_not_null(gpu);
    grant.horizon_ns = 4 * GA_NS_PER_MS;
    grant.hold_ns = GA_NS_PER_MS / 2;
    grant.patience_ns = HOUR;
}

static void stop(void)
{
    fake_ledger.quota = NULL;
    meter_fini(&conn->app->meter);
    completer_fini(&conn->completer);
    send_queue_fini(&conn->out);
    close(conn->wake_fd);
    close(bell.fd);
    close(our_bell);
    free(conn->app);
    free(conn);
}

TestSuite(turn_gate, .init = start, .fini = stop, .timeout = 30);

static void give(uint64_t turn, unsigned what, uint64_t until_ns)
{
    grant.until_ns = until_ns;
    grant.word = grant_word(turn, what);
}

static bool has_rung(void)
{
    struct pollfd rung = {.fd = our_bell, .events = POLLIN};
    char bytes[64];
    return poll(&rung, 1, 0) == 1 && read(our_bell, bytes, sizeof bytes) > 0;
}

static enum ga_status enter(enum api_engine engine)
{
    return gate->enter(gate, conn->app, engine, 0);
}

/* ---- gpuaasd, which waits for what the session says, and then grants that */

struct answer {
    uint64_t said, word, until_ns;
};

static void await_said(uint64_t word)
{
    char bytes[64];
    while (request.word != word) {
        cr_assert_gt(read(our_bell, bytes, sizeof bytes), 0);
    }
}

static void *answer_run(void *argument)
{
    const struct answer *answer = argument;
    await_said(answer->said);
    grant.until_ns = answer->until_ns;
    grant.word = answer->word;
    cr_assert_eq(write(our_bell, "", 1), 1);
    return NULL;
}

/* It enters, and meanwhile says so and is answered so. */
static void enters_when(enum api_engine engine, uint64_t said, uint64_t word, uint64_t until_ns)
{
    struct answer answer = {said, word, until_ns};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, answer_run, &answer), 0);
    cr_assert_eq(enter(engine), GA_OK);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(turn_gate, it_asks_and_is_woken)
{
    enters_when(API_ENGINE_H2D, grant_word(0, GPU_PHASE_H2D), grant_word(1, GRANT_ALL),
                ga_clock_ns() + HOUR);
    cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK, "it is still its turn");
    cr_assert_eq(request.word, grant_word(0, GPU_PHASE_H2D));
}

Test(turn_gate, a_turn_ends_by_time)
{
    give(1, GRANT_ALL, ga_clock_ns());
    enters_when(API_ENGINE_COMPUTE, grant_word(1, GPU_PHASE_KL), grant_word(2, GRANT_ALL),
                ga_clock_ns() + HOUR);
}

Test(turn_gate, another_phase_is_another_turn)
{
    give(1, 1u << GPU_PHASE_KL, ga_clock_ns() + HOUR);
    cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
    cr_assert_eq(enter(API_ENGINE_BOTH), GA_OK, "a graph is kernels");
    enters_when(API_ENGINE_D2H, grant_word(1, GPU_PHASE_D2H), grant_word(2, 1u << GPU_PHASE_D2H),
                ga_clock_ns() + HOUR);
}

Test(turn_gate, alone_or_free_it_asks_nobody)
{
    give(1, GRANT_ALL | GRANT_ALONE, 0);
    for (unsigned i = 0; i < 10000; i++) {
        cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
    }
    cr_assert_eq(gate->rest(gate, conn->app), UINT64_MAX, "nor does it return the turn");
    give(1, GRANT_ALL | GRANT_FREE, 0);
    for (unsigned i = 0; i < 10000; i++) {
        cr_assert_eq(enter(API_ENGINE_H2D), GA_OK);
    }
    cr_assert(!has_rung());
    give(1, GRANT_ALL, ga_clock_ns()); /* somebody wants it */
    enters_when(API_ENGINE_COMPUTE, grant_word(1, GPU_PHASE_KL),
                grant_word(2, GRANT_ALL | GRANT_ALONE), 0);
}

/* Works that took 1 ms each: two in half of the horizon, and as many before those are done. */
Test(turn_gate, works_ahead_are_bounded_by_time)
{
    give(1, GRANT_ALL | GRANT_ALONE, 0);
    uint64_t done_ns = 0;
    for (unsigned i = 0; i < 100; i++) {
        cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
        meter_gpu_busy(gpu, GPU_COMPUTE, done_ns, done_ns + GA_NS_PER_MS, true);
        done_ns += GA_NS_PER_MS;
    }
    unsigned side = gpu->side, count = 0;
    while (gpu->side == side) { /* the beginning of a batch */
        cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
        meter_gpu_busy(gpu, GPU_COMPUTE, done_ns, done_ns + GA_NS_PER_MS, true);
        done_ns += GA_NS_PER_MS;
    }
    side = gpu->side;
    while (gpu->side == side) {
        cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
        meter_gpu_busy(gpu, GPU_COMPUTE, done_ns, done_ns + GA_NS_PER_MS, true);
        done_ns += GA_NS_PER_MS;
        count++;
    }
    cr_assert(count >= 1 && count <= 3, "%u works of 1 ms are in half of 4 ms", count);
}

Test(turn_gate, who_has_nothing_to_do_returns_its_turn_while_others_wait)
{
    give(1, GRANT_ALL, ga_clock_ns() + HOUR);
    cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
    meter_gpu_begin(gpu, GPU_COMPUTE, ga_clock_ns());
    uint64_t ns = gate->rest(gate, conn->app);
    cr_assert(ns != UINT64_MAX && request.word == grant_word(0, GPU_PHASE_DFL),
              "work is in flight");
    meter_gpu_end(gpu, gpu->side);
    while ((ns = gate->rest(gate, conn->app)) != UINT64_MAX) {
        cr_assert_leq(ns, grant.hold_ns);
    }
    cr_assert_eq(request.word, grant_word(1, GPU_PHASE_DFL));
    cr_assert(has_rung());
    cr_assert_eq(gate->rest(gate, conn->app), UINT64_MAX, "once");
}

/* ---- limits make the program wait, and nobody else */

static struct quota quota;

static void limit_calls(uint64_t per_second)
{
    fake_ledger.quota = &quota;
    conn->app->rates.any = true;
    conn->app->rates.of[RATE_CALLS] = (struct rate){.per_second = per_second};
    conn->app->rates.of[RATE_IN] = (struct rate){.per_second = UINT64_MAX, .free = UINT64_MAX};
}

Test(turn_gate, who_waits_for_a_limit_returns_its_turn)
{
    uint64_t began = ga_clock_ns();
    limit_calls(100);
    give(1, GRANT_ALL, began + HOUR);
    cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
    conn->calls = 40; /* of which ten may come at once */
    cr_assert(rate_wait(conn));
    cr_assert_geq(ga_clock_ns() - began, 300 * GA_NS_PER_MS);
    cr_assert_eq(request.word, grant_word(1, GPU_PHASE_DFL));
    cr_assert_neq(atomic_load(&fake_figures.rate_waits), 0, "gpuaasd can tell");
}

/* Half of what may come at once. */
Test(turn_gate, some_calls_need_no_look_at_a_limit)
{
    unsigned passed = 0;
    limit_calls(1000);
    cr_assert(rate_frame_is_due(&conn->app->rates, &quota, 100), "nobody has looked yet");
    conn->calls = 1;
    cr_assert(!rate_wait(conn));
    while (!rate_frame_is_due(&conn->app->rates, &quota, 100)) {
        conn->calls++;
        passed++;
    }
    cr_assert(passed >= 45 && passed <= 50, "%u", passed);
    conn->calls = 200; /* of which a hundred may come at once */
    cr_assert(rate_wait(conn));
}

Test(turn_gate, bytes_that_come_beside_frames_are_looked_at)
{
    uint64_t began = ga_clock_ns();
    limit_calls(UINT64_MAX);
    conn->app->rates.of[RATE_IN] = (struct rate){.per_second = 1000000};
    ledger_moved(&fake_ledger, FIGURE_FRAMES_IN, 100);
    cr_assert(!rate_wait(conn));
    cr_assert(!rate_frame_is_due(&conn->app->rates, &quota, 20000));
    cr_assert(rate_frame_is_due(&conn->app->rates, &quota, 40000), "more than half of the burst");
    ledger_moved(&fake_ledger, FIGURE_SHARED_IN, 400000);
    rate_look_soon(&conn->app->rates);
    cr_assert(rate_frame_is_due(&conn->app->rates, &quota, 100));
    cr_assert(rate_wait(conn));
    cr_assert_geq(ga_clock_ns() - began, 250 * GA_NS_PER_MS);
}

/* Before a part of a copy that had passed the gate already. */
Test(turn_gate, who_waits_to_send_has_to_ask_again)
{
    uint64_t began = ga_clock_ns();
    fake_ledger.quota = &quota;
    conn->out.rate.rate = (struct rate){.per_second = 1, .due_ns = began + 300 * GA_NS_PER_MS};
    give(1, GRANT_ALL, began + HOUR);
    cr_assert_eq(enter(API_ENGINE_D2H), GA_OK);
    cr_assert(rate_wait_out(conn));
    cr_assert_geq(ga_clock_ns() - began, 275 * GA_NS_PER_MS, "all but a 40th of a second");
    cr_assert_eq(request.word, grant_word(1, GPU_PHASE_DFL));
    cr_assert_neq(atomic_load(&fake_figures.rate_waits), 0, "gpuaasd can tell");
    cr_assert(!rate_wait_out(conn), "nothing has been sent since");
}

/* A sleep of a microsecond takes a hundred. */
Test(turn_gate, who_sends_less_than_its_limit_does_not_wait_between_parts)
{
    fake_ledger.quota = &quota;
    conn->out.rate.rate = (struct rate){.per_second = UINT64_C(1000000000000)};
    for (unsigned part = 0; part < 64; part++) {
        cr_assert(!rate_wait_out(conn), "part %u", part);
        ledger_moved(&fake_ledger, FIGURE_SHARED_OUT, 131072);
    }
    cr_assert_eq(atomic_load(&fake_figures.rate_waits), 0);
    ledger_moved(&fake_ledger, FIGURE_SHARED_OUT, UINT64_C(50000000000));
    cr_assert(rate_wait_out(conn), "who sends more does");
}

static void *end_later(void *argument)
{
    (void)argument;
    usleep(1000000);
    atomic_store(&conn->ended, true);
    (void)!eventfd_write(conn->wake_fd, 1);
    return NULL;
}

/* The handler of a copy had asked before it waited for room. */
Test(turn_gate, a_copy_that_has_waited_for_a_limit_asks_again)
{
    struct server_context context = {.session = &session};
    struct conn_room room;
    pthread_t thread;
    conn->app->current = &context;
    limit_calls(100);
    give(1, GRANT_ALL, ga_clock_ns() + HOUR);
    cr_assert_eq(enter(API_ENGINE_H2D), GA_OK);
    conn->calls = 40;
    cr_assert_eq(pthread_create(&thread, NULL, end_later, NULL), 0);
    cr_assert_eq(conn_room(conn, 0, 64, ROOM_IN, &room), CUDA_ERROR_UNKNOWN);
    cr_assert_eq(request.word, grant_word(1, GPU_PHASE_H2D));
    cr_assert_eq(pthread_join(thread, NULL), 0);
    conn->app->current = NULL;
}

/* ---- and so does whoever waits for room, which the program or the GPU may not make for long */

static void *end_when_returned(void *argument)
{
    (void)argument;
    await_said(grant_word(1, GPU_PHASE_DFL));
    send_queue_end(&conn->out);
    return NULL;
}

Test(turn_gate, who_waits_until_its_client_reads_returns_its_turn)
{
    pthread_t thread;
    conn->queue_bytes = 0; /* it is full */
    give(1, GRANT_ALL, ga_clock_ns() + HOUR);
    cr_assert_eq(enter(API_ENGINE_D2H), GA_OK);
    cr_assert_eq(pthread_create(&thread, NULL, end_when_returned, NULL), 0);
    cr_assert_eq(conn_wait_room(conn), GA_LOST);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

static void *give_slot_when_returned(void *slot)
{
    await_said(grant_word(1, GPU_PHASE_DFL));
    staging_give(&conn->staging, slot);
    const struct answer answer = {grant_word(1, GPU_PHASE_D2H), grant_word(2, GRANT_ALL),
                                  ga_clock_ns() + HOUR};
    return answer_run((void *)(uintptr_t)&answer);
}

Test(turn_gate, who_waits_for_a_slot_returns_its_turn_and_asks_again)
{
    static uint8_t bytes[WIRE_CHUNK];
    struct staging_slot slot = {.bytes = bytes, .leases = 1};
    struct server_context context = {.session = &session};
    struct conn_room room;
    pthread_t thread;
    conn->app->current = &context;
    give(1, GRANT_ALL, ga_clock_ns() + HOUR);
    cr_assert_eq(enter(API_ENGINE_D2H), GA_OK);
    cr_assert_eq(pthread_create(&thread, NULL, give_slot_when_returned, &slot), 0);
    cr_assert_eq(conn_room(conn, 0, WIRE_CHUNK, ROOM_OUT, &room), CUDA_SUCCESS);
    cr_assert_eq(room.slot, &slot);
    cr_assert_eq(grant.word, grant_word(2, GRANT_ALL), "it has a turn again");
    cr_assert_eq(pthread_join(thread, NULL), 0);
    conn_room_leave(conn, &room);
    conn->app->current = NULL;
}

static void *limit_change(void *argument)
{
    (void)argument;
    usleep(20000);
    atomic_fetch_add(&quota.turn, 1);
    return NULL;
}

Test(turn_gate, who_waits_for_a_limit_hears_that_it_has_changed)
{
    pthread_t thread;
    limit_calls(1);
    conn->calls = 3600; /* for an hour, else */
    cr_assert_eq(pthread_create(&thread, NULL, limit_change, NULL), 0);
    (void)rate_wait(conn);
    cr_assert(rate_is_due(&conn->app->rates, &quota));
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

/* Batches in flight are looked at meanwhile, more and more seldom. */
Test(turn_gate, a_pause_ends_in_time_whatever_is_in_flight)
{
    conn->app->meter.outstanding = 1;
    conn_pause(conn, 300 * GA_NS_PER_MS);
    conn->app->meter.outstanding = 0;
}

Test(turn_gate, work_that_waits_for_the_program_does_not_keep_the_turn)
{
    grant.horizon_ns = GA_NS_PER_MS;
    give(1, GRANT_ALL, ga_clock_ns() + HOUR);
    cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
    meter_gpu_begin(gpu, GPU_COMPUTE, ga_clock_ns());
    uint64_t until = ga_clock_ns() + 50 * GA_NS_PER_MS;
    while (ga_clock_ns() < until) { /* a kernel that takes long does */
        cr_assert_neq(gate->rest(gate, conn->app), UINT64_MAX);
    }
    conn->app->waits_for_values = true;
    while (gate->rest(gate, conn->app) != UINT64_MAX) {
    }
    cr_assert_eq(request.word, grant_word(1, GPU_PHASE_DFL));
    meter_gpu_end(gpu, gpu->side);
}

/* The patience is longer than the time after which work counts as standing still. */
Test(turn_gate, work_that_runs_keeps_the_turn_for_some_patience)
{
    struct meter_batch batch = {.gpu = gpu, .begin_ns = 1};
    uint64_t until = ga_clock_ns();
    grant.patience_ns = 300 * GA_NS_PER_MS;
    give(1, GRANT_ALL | GRANT_ALONE, 0);
    cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_OK);
    meter_gpu_begin(gpu, GPU_COMPUTE, ga_clock_ns());
    ga_list_append(&conn->app->meter.batches, &batch.link);
    give(1, GRANT_ALL, until);
    while (gate->rest(gate, conn->app) != UINT64_MAX) {
        cr_assert_lt(ga_clock_ns() - until, HOUR);
        cr_assert_geq(request.looked_ns, until);
    }
    cr_assert_geq(ga_clock_ns() - until, grant.patience_ns);
    cr_assert_eq(request.word, grant_word(1, GPU_PHASE_DFL));
    ga_list_remove(&batch.link);
    meter_gpu_end(gpu, gpu->side);
}

/* A later call may be what it waits for. */
Test(turn_gate, work_that_stands_still_does_not_keep_the_program)
{
    give(1, GRANT_ALL | GRANT_ALONE, 0);
    for (unsigned i = 0; i < 2; i++) {
        meter_gpu_begin(gpu, GPU_COMPUTE, ga_clock_ns());
        gpu->side = 1 - gpu->side;
    }
    for (unsigned i = 0; i < 10; i++) {
        cr_assert_eq(enter(API_ENGINE_H2D), GA_OK);
    }
    give(1, GRANT_ALL, ga_clock_ns());
    enters_when(API_ENGINE_H2D, grant_word(1, GPU_PHASE_H2D), grant_word(2, GRANT_ALL),
                ga_clock_ns() + HOUR);
}

Test(turn_gate, the_end_of_the_connection_ends_the_wait)
{
    atomic_store(&conn->ended, true);
    cr_assert_eq(enter(API_ENGINE_COMPUTE), GA_LOST);
}

Test(turn_gate, a_session_in_the_place_of_another_returns_what_that_one_had)
{
    give(5, 0, 0);
    request.word = grant_word(4, GPU_PHASE_KL);
    turn_gate_init(&session.turn, &request, &grant, &bell, 0);
    enters_when(API_ENGINE_COMPUTE, grant_word(5, GPU_PHASE_KL), grant_word(6, GRANT_ALL),
                ga_clock_ns() + HOUR);
}
