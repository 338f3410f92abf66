/* SPDX-License-Identifier: Apache-2.0 */
/* Ends: of a client, of a backend process, of gpuaasd, however they come. Nothing stays behind. */
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define MIB (UINT64_C(1) << 20)

/* Runs for ever: the loop's condition never fails. */
static const char endless[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                              ".visible .entry spin(.param .u64 p)\n"
                              "{\n    .reg .pred %q;\n    .reg .b32 %r<2>;\n    .reg .b64 %d<2>;\n"
                              "    ld.param.u64 %d1, [p];\n"
                              "LOOP:\n    ld.volatile.global.u32 %r1, [%d1];\n"
                              "    setp.eq.u32 %q, %r1, 0;\n    @%q bra LOOP;\n    ret;\n}\n";

static struct script_server server;
static struct script_app app;

static void start(void)
{
    script_server_start(&server, "");
}

static void stop(void)
{
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(life, .init = start, .fini = stop, .timeout = 90);

/* An application whose kernel spins until the word at its window is not 0. */
static uint64_t start_spinning(struct script_app *spinning)
{
    uint64_t module = ga_handle_make(GA_HANDLE_MODULE, 1, 1);
    uint64_t function = ga_handle_make(GA_HANDLE_FUNCTION, 1, 1);
    uint32_t zero = 0;
    script_app_start(spinning, server.url, 0);
    cr_assert_eq(script_map(spinning, spinning->window, 2 * MIB), 0);
    cr_assert_eq(script_module(spinning, module, endless), 0);
    cr_assert_eq(script_function(spinning, module, "spin", function), 0);
    uint64_t stream = script_stream(spinning, 1);
    script_copy_in(spinning, spinning->window, &zero, 4, stream);
    script_launch(spinning, function, 1, 1, stream, &spinning->window, 8);
    return stream;
}

static void release(struct script_app *spinning, uint64_t stream)
{
    uint32_t one = 1;
    script_copy_in(spinning, spinning->window, &one, 4, stream);
}

static uint64_t send_synchronize(struct script_app *waiting, uint64_t stream)
{
    const struct ga_stream_synchronize_args args = {.stream = stream};
    ga_stream_synchronize_args_write(script_begin(&waiting->data), &args);
    script_send(&waiting->data, API_OP_ga_stream_synchronize, 1, waiting->sequence);
    return waiting->sequence++;
}

Test(life, a_hundred_applications_leave_nothing)
{
    unsigned before = script_server_descriptors(&server);
    for (int i = 0; i < 100; i++) {
        script_app_start(&app, server.url, (uint32_t)i % 2);
        script_app_close(&app);
    }
    script_server_wait_backends(&server, 0);
    uint64_t until = ga_clock_ns() + 5 * GA_NS_PER_S;
    while (script_server_descriptors(&server) > before && ga_clock_ns() < until) {
        usleep(10000);
    }
    cr_expect_leq(script_server_descriptors(&server), before, "%u, not %u",
                  script_server_descriptors(&server), before);
}

Test(life, data_and_side_connection_of_a_client_end_its_process)
{
    for (int which = 0; which < 2; which++) {
        script_app_start(&app, server.url, 0);
        script_close(which == 0 ? &app.data : &app.side);
        script_server_wait_backends(&server, 0);
        script_app_close(&app);
    }
}

Test(life, client_without_its_control_connection_is_served_on)
{
    script_app_start(&app, server.url, 0);
    script_close(&app.control);
    script_server_says(&server, "goes on without its control connection");
    cr_assert_eq(script_server_backends(&server, NULL, 0), 1);
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
}

#ifdef GPUAAS_FAILPOINTS

static char fuse[] = "/tmp/gpuaas-life-XXXXXX";

static void start_late(void)
{
    int file = mkstemp(fuse);
    cr_assert(file >= 0 && fchmod(file, 0666) == 0); /* a backend process has another user */
    dprintf(file, "1 delay:1000 backend: served\n");
    close(file);
    setenv("GPUAAS_FAILPOINT", fuse, 1);
    script_server_start(&server, "");
}

/* Its backend process says later than the end of its control connection is seen that it is served.
 */
Test(life, client_may_be_served_on_before_gpuaasd_knows, .init = start_late)
{
    script_app_start(&app, server.url, 0);
    script_close(&app.control);
    script_server_says(&server, "goes on without its control connection");
    cr_assert_eq(script_server_backends(&server, NULL, 0), 1);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    unlink(fuse);
}

#endif

static void start_patient(void)
{
    script_server_start(&server, "ticket_s = 300\n");
}

/* With a ticket that it has not shown: nobody waits until that is worth nothing. */
Test(life, client_that_dies_before_it_connects_leaves_nothing, .init = start_patient)
{
    script_hello(&app, server.url);
    script_expect(&app.control, WIRE_WELCOME);
    script_open(&app, 0);
    script_server_wait_backends(&server, 1);
    script_close(&app.control);
    script_server_wait_backends(&server, 0);
}

Test(life, client_that_dies_in_a_kernel_and_a_copy_leaves_nothing)
{
    uint64_t stream = start_spinning(&app);
    const struct ga_copy_out_args args = {.src = app.window, .bytes = 2 * MIB, .stream = stream};
    ga_copy_out_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
}

Test(life, client_sees_the_end_of_its_backend_and_may_open_again)
{
    pid_t backend;
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_server_backends(&server, &backend, 1), 1);
    kill(backend, SIGKILL);
    script_expect_end(&app.data);
    script_server_says(&server, "killed by signal 9");
    script_server_wait_backends(&server, 0);
    script_open(&app, 0);
    script_server_wait_backends(&server, 1);
}

Test(life, backend_that_stands_still_is_killed)
{
    pid_t backend;
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_server_backends(&server, &backend, 1), 1);
    kill(backend, SIGSTOP);
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
}

/* Whether gpuaasd says anything soon. */
static bool answers(struct script_conn *conn)
{
    struct pollfd fd = {.fd = conn->conn.fd, .events = POLLIN};
    return poll(&fd, 1, 300) == 1;
}

static void ask_open(uint64_t sequence)
{
    const struct handshake_open open = {.device = 0};
    handshake_open_write(script_begin(&app.control), &open);
    script_send(&app.control, WIRE_OPEN, 0, sequence);
}

Test(life, backend_that_does_not_read_gets_its_tickets_later)
{
    enum { ASKED_MAX = 5000, LAST = 3 };
    pid_t backend;
    uint64_t asked = 0, answered = 0;
    script_app_start(&app, server.url, 0);
    uint64_t process = app.ticket.process;
    cr_assert_eq(script_server_backends(&server, &backend, 1), 1);
    kill(backend, SIGSTOP);
    do { /* until it can be told no more */
        cr_assert_lt(asked, ASKED_MAX, "the channel is never full");
        ask_open(++asked);
    } while (answers(&app.control) && script_receive(&app.control) == WIRE_TICKET &&
             ++answered == asked);
    cr_expect_eq(answered + 1, asked);
    for (int i = 0; i < LAST; i++) {
        ask_open(++asked);
    }
    kill(backend, SIGCONT);
    uint64_t sum = 0; /* their order is not said */
    for (uint64_t i = answered + 1; i <= asked; i++) {
        script_expect(&app.control, WIRE_TICKET);
        sum += app.control.header.sequence - i;
        cr_assert_eq(handshake_ticket_read(&app.control.values, &app.ticket), GA_OK);
        cr_assert_eq(app.ticket.process, process, "it is no other process");
    }
    cr_expect_eq(sum, 0);
    cr_assert_eq(script_stream_synchronize(&app, 0), CUDA_SUCCESS);
}

Test(life, sigterm_ends_a_spinning_kernel)
{
    (void)start_spinning(&app);
    kill(server.pid, SIGTERM);
    script_expect_end(&app.data);
    script_expect_end(&app.control);
    siginfo_t ended; /* one more signal would end it otherwise, as soon as it does not look */
    cr_assert_eq(waitid(P_PID, (id_t)server.pid, &ended, WEXITED | WNOWAIT), 0);
    /* stop() finds it gone already, with exit status 0 */
}

Test(life, backends_die_with_gpuaasd)
{
    pid_t backend;
    (void)start_spinning(&app);
    cr_assert_eq(script_server_backends(&server, &backend, 1), 1);
    kill(server.pid, SIGKILL);
    cr_assert_eq(waitpid(server.pid, NULL, 0), server.pid);
    script_expect_end(&app.data);
    uint64_t until = ga_clock_ns() + 10 * GA_NS_PER_S;
    while (kill(backend, 0) == 0 && ga_clock_ns() < until) {
        usleep(5000);
    }
    cr_expect_neq(kill(backend, 0), 0);
    close(server.log);
    unlink(server.config);
    script_app_close(&app);
    start(); /* for stop() */
}

/* ---- waits */

Test(life, synchronize_is_answered_when_its_stream_is_done)
{
    uint64_t spinning = start_spinning(&app), free_stream = script_stream(&app, 2);
    uint64_t waited = send_synchronize(&app, spinning);
    cr_assert_eq(script_stream_synchronize(&app, free_stream), 0, "another stream goes on");
    release(&app, free_stream);
    cr_assert_eq(script_wait(&app, waited), 0);
}

Test(life, query_answers_at_once_and_its_watch_later)
{
    uint64_t spinning = start_spinning(&app), free_stream = script_stream(&app, 2);
    const struct ga_stream_query_args args = {.stream = spinning, .watch = 1};
    ga_stream_query_args_write(script_begin(&app.data), &args);
    uint64_t query = app.sequence++;
    script_send(&app.data, API_OP_ga_stream_query, 1, query);
    cr_assert_eq(script_wait(&app, query), CUDA_ERROR_NOT_READY);
    release(&app, free_stream);
    script_expect(&app.data, WIRE_DONE);
    cr_expect_eq(app.data.header.sequence, query);
    cr_expect_eq(ga_read_i32(&app.data.values), 0);
    ga_stream_query_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_stream_query, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
}

static void record(uint64_t event, uint64_t stream)
{
    const struct cuEventRecord_args args = {.hEvent = event, .hStream = stream};
    cuEventRecord_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_cuEventRecord, 1, app.sequence++);
}

static int32_t event_query(uint64_t event)
{
    const struct ga_event_query_args args = {.event = event};
    ga_event_query_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_event_query, 1, app.sequence);
    return script_wait(&app, app.sequence++);
}

Test(life, wait_is_for_the_record_that_was_there)
{
    uint64_t spinning = start_spinning(&app), free_stream = script_stream(&app, 2);
    uint64_t event = ga_handle_make(GA_HANDLE_EVENT, 1, 1);
    const struct cuEventCreate_args create = {.phEvent = event, .Flags = CU_EVENT_DISABLE_TIMING};
    cuEventCreate_args_write(script_begin(&app.data), &create);
    script_send(&app.data, API_OP_cuEventCreate, 1, app.sequence++);
    cr_expect_eq(event_query(event), 0, "an event that was never recorded is done");
    record(event, spinning);
    cr_expect_eq(event_query(event), CUDA_ERROR_NOT_READY);
    const struct ga_event_synchronize_args wait = {.event = event};
    ga_event_synchronize_args_write(script_begin(&app.data), &wait);
    uint64_t waited = app.sequence++;
    script_send(&app.data, API_OP_ga_event_synchronize, 1, waited);
    record(event, free_stream); /* now it means something else, but not to who waits already */
    cr_expect_eq(event_query(event), 0);
    const struct cuEventDestroy_v2_args destroy = {.hEvent = event};
    cuEventDestroy_v2_args_write(script_begin(&app.data), &destroy);
    script_send(&app.data, API_OP_cuEventDestroy_v2, 1, app.sequence++);
    cr_expect_eq(event_query(event), CUDA_ERROR_INVALID_HANDLE);
    release(&app, free_stream);
    cr_expect_eq(script_wait(&app, waited), 0);
}

Test(life, many_small_copies_behind_a_kernel_block_nobody)
{
    enum { COPIES = 500 }; /* more than there are slots and turns of the overflow */
    uint64_t spinning = start_spinning(&app), free_stream = script_stream(&app, 2);
    const struct ga_copy_out_args out = {.src = app.window + 64, .bytes = 4, .stream = spinning};
    uint64_t first_out = 0;
    for (uint32_t i = 1; i <= COPIES; i++) {
        script_copy_in(&app, app.window + 64, &i, 4, spinning);
        ga_copy_out_args_write(script_begin(&app.data), &out);
        first_out = i == 1 ? app.sequence : first_out;
        script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    }
    cr_assert_eq(script_stream_synchronize(&app, free_stream), 0);
    release(&app, free_stream);
    for (uint32_t i = 1; i <= COPIES; i++) {
        script_expect(&app.data, WIRE_DATA);
        cr_assert_eq(app.data.header.sequence, first_out + 2 * (i - 1));
        (void)ga_read_u64(&app.data.values);
        cr_assert_eq(ga_read_u64(&app.data.values), 4);
        const uint32_t *value = ga_read_array(&app.data.values, 4, 4, 16);
        cr_assert_eq(value[0], i, "each copy has its own bytes");
        cr_assert_eq(value[1], 0, "padding shows nothing");
        script_expect(&app.data, WIRE_REPLY);
    }
}

Test(life, unmap_waits_for_work_and_reset_for_all)
{
    uint64_t spinning = start_spinning(&app), free_stream = script_stream(&app, 2);
    const struct ga_memory_unmap_args unmap = {
        .address = app.window, .bytes = 2 * MIB, .wait_for_work = 1};
    ga_memory_unmap_args_write(script_begin(&app.data), &unmap);
    uint64_t unmapped = app.sequence++;
    script_send(&app.data, API_OP_ga_memory_unmap, 1, unmapped);
    cr_assert_eq(script_stream_synchronize(&app, free_stream), 0);
    release(&app, free_stream); /* still mapped, or the kernel would have faulted */
    cr_assert_eq(script_wait(&app, unmapped), 0);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    (void)spinning;
    const struct ga_context_destroy_args destroy = {.context = app.context};
    ga_context_destroy_args_write(script_begin(&app.data), &destroy);
    script_send(&app.data, API_OP_ga_context_destroy, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    cr_expect_eq(script_map(&app, app.window, 2 * MIB), CUDA_ERROR_INVALID_CONTEXT);
}

Test(life, client_that_does_not_read_is_waited_for_within_bounds)
{
    enum { COPIES = 40, BYTES = 4 << 20 };
    uint8_t *seen = malloc(BYTES);
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_map(&app, app.window, 4 * MIB), 0);
    uint64_t first = app.sequence;
    for (int i = 0; i < COPIES; i++) {
        const struct ga_copy_out_args args = {.src = app.window, .bytes = BYTES};
        ga_copy_out_args_write(script_begin(&app.data), &args);
        script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    }
    usleep(300000); /* whatever it can queue it has queued now */
    for (int i = 0; i < COPIES; i++) {
        uint64_t due = 0;
        while (script_receive(&app.data) == WIRE_DATA) {
            cr_assert_eq(app.data.header.sequence, first + (uint64_t)i);
            cr_assert_eq(ga_read_u64(&app.data.values), due);
            due += ga_read_u64(&app.data.values);
        }
        cr_assert_eq(due, BYTES);
        cr_assert_eq(app.data.header.opcode, WIRE_REPLY);
    }
    free(seen);
}
