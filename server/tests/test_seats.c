/* SPDX-License-Identifier: Apache-2.0 */
/* Applications in one backend process that come and go while others stay. */
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/tests/script.h"

#define MIB       (UINT64_C(1) << 20)
#define OPENS_MAX 5000 /* no channel has room for so many tickets */

static const char endless[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry spin()\n{\nLOOP:\n    nanosleep.u32 1000;\n    bra LOOP;\n}\n";

static struct script_server server;
static struct script_app app, other;

static void start(void)
{
    cr_assert_eq(setenv("GPUAAS_TEST_SEATS", "2", 1), 0);
    script_server_start(&server, "");
}

static void stop(void)
{
    script_app_close(&app);
    script_app_close(&other);
    script_server_stop(&server);
}

TestSuite(seats, .init = start, .fini = stop, .timeout = 60);

static void start_one(void)
{
    cr_assert_eq(setenv("GPUAAS_TEST_SEATS", "1", 1), 0);
    script_server_start(&server, "");
}

TestSuite(seat, .init = start_one, .fini = stop, .timeout = 60);

static pid_t backend(void)
{
    pid_t pid = 0;
    cr_assert_eq(script_server_backends(&server, &pid, 1), 1);
    return pid;
}

/* Its ticket is good, and the application is still there, but only to end. */
Test(seats, a_connection_to_an_application_that_ends_is_refused)
{
    uint64_t module = ga_handle_make(GA_HANDLE_MODULE, 1, 1);
    uint64_t function = ga_handle_make(GA_HANDLE_FUNCTION, 1, 1);
    struct script_conn late[2];
    struct handshake_data_hello hello;
    struct handshake_refused refused;
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_module(&app, module, endless), 0);
    cr_assert_eq(script_function(&app, module, "spin", function), 0);
    script_launch(&app, function, 1, 1, script_stream(&app, 1), NULL, 0);
    script_open(&app, 1);
    for (unsigned i = 0; i < 2; i++) {
        script_connect_backend(&app, &late[i], false);
    }
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0, "it has accepted them meanwhile");
    script_close(&app.side);
    script_expect_end(&app.data); /* but its kernel does not end */
    for (unsigned i = 0; i < 2; i++) {
        script_data_hello_fill(&app, &hello, i == 0 ? HANDSHAKE_SIDE : HANDSHAKE_DATA, 1, 0);
        handshake_data_hello_write(script_begin(&late[i]), &hello);
        script_send(&late[i], WIRE_DATA_HELLO, 0, 9);
        script_expect(&late[i], WIRE_REFUSED);
        cr_assert_eq(handshake_refused_read(&late[i].values, &refused), GA_OK);
        cr_assert_eq(refused.result, CUDA_ERROR_DEVICE_UNAVAILABLE, "%d %s", refused.result,
                     refused.reason);
        script_close(&late[i]);
    }
    script_server_says(&server, "an application could not be ended");
    script_server_wait_backends(&server, 0);
}

/* Asks for tickets until gpuaasd gets none away to the process. How many it has got away. */
static unsigned tickets_until_full(void)
{
    const struct handshake_open open = {.device = 0};
    for (unsigned given = 0; given < OPENS_MAX; given++) {
        struct pollfd fds[TRANSPORT_POLL_MAX];
        handshake_open_write(script_begin(&app.control), &open);
        script_send(&app.control, WIRE_OPEN, 0, 100 + given);
        unsigned count = app.control.conn.ops->poll_prepare(&app.control.conn, POLLIN, fds);
        if (poll(fds, count, 1000) == 0) {
            return given;
        }
        script_expect(&app.control, WIRE_TICKET);
    }
    cr_assert(false, "the channel is never full");
    return 0;
}

/* The process cannot be told at once that an application has left: the others must not suffer. */
Test(seats, an_application_leaves_while_the_channel_is_full)
{
    script_app_start(&app, server.url, 0);
    script_hello(&other, server.url);
    script_expect(&other.control, WIRE_WELCOME);
    script_open(&other, 0); /* it is not served yet, so that its end is its control connection's */
    pid_t pid = backend();
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    unsigned given = tickets_until_full();
    script_close(&other.control);
    usleep(100000); /* gpuaasd sees it */
    cr_assert_eq(kill(pid, SIGCONT), 0);
    script_expect(&app.control, WIRE_TICKET);
    cr_assert_eq(app.control.header.sequence, 100 + given);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    cr_assert_eq(backend(), pid);
    do { /* until the seat is free again; until then another process has one */
        script_app_close(&other);
        script_app_start(&other, server.url, 1);
    } while (other.ticket.process != app.ticket.process);
    cr_assert_eq(script_map(&other, other.window, 2 * MIB), 0);
}

/* Nor can it be asked at once whether it serves one on that is alone. */
Test(seats, an_application_loses_its_control_connection_while_the_channel_is_full)
{
    script_app_start(&app, server.url, 0);
    script_app_start(&other, server.url, 0);
    pid_t pid = backend();
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    (void)tickets_until_full();
    script_close(&other.control);
    usleep(100000); /* gpuaasd sees it */
    cr_assert_eq(kill(pid, SIGCONT), 0);
    script_server_says(&server, "goes on without its control connection");
    cr_assert_eq(script_map(&other, other.window, 2 * MIB), 0);
    cr_assert_eq(backend(), pid);
}

/* As gpuaasd reports it of the only application. */
static unsigned long long bytes_in(void)
{
    const char *words = " bytes in by frames";
    size_t before = strlen(server.text);
    cr_assert_eq(kill(server.pid, SIGUSR1), 0);
    do {
        script_server_drain(&server);
    } while (strstr(server.text + before, " spare") == NULL);
    char *at = strstr(server.text + before, words);
    cr_assert_not_null(at, "%s", server.text + before);
    while (at[-1] >= '0' && at[-1] <= '9') {
        at--;
    }
    return strtoull(at, NULL, 10);
}

Test(seat, its_next_application_has_moved_nothing)
{
    static const uint8_t bytes[MIB];
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    script_copy_in(&app, app.window, bytes, sizeof bytes, 0);
    cr_assert_eq(script_stream_synchronize(&app, 0), 0);
    cr_assert_geq(bytes_in(), MIB);
    script_app_close(&app);
    do { /* until the seat is free again; until then another process has one */
        script_app_close(&other);
        script_app_start(&other, server.url, 0);
    } while (other.ticket.process != app.ticket.process);
    cr_assert_lt(bytes_in(), MIB);
}
