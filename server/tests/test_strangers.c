/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that do not say who they are, and clients that use nothing: they keep nobody out. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "server/tests/script.h"

#define MIB    (UINT64_C(1) << 20)
#define SILENT 16

static struct script_server server;
static struct script_app app, other;
static int silent[SILENT];

static void stop(void)
{
    for (int i = 0; i < SILENT; i++) {
        if (silent[i] > 0) {
            close(silent[i]);
        }
    }
    script_app_close(&app);
    script_app_close(&other);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(strangers, .fini = stop, .timeout = 120);

/* A connection to a url of tcp or tls from this address, which says nothing. */
static int stranger(const char *from, const char *url)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0);
    cr_assert_eq(inet_pton(AF_INET, from, &at.sin_addr), 1);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(inet_pton(AF_INET, "127.0.0.1", &at.sin_addr), 1);
    at.sin_port = htons((uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10));
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* Whether the other end has closed it; waits for so long. */
static bool closed(int fd, int timeout_ms)
{
    struct pollfd at = {.fd = fd, .events = POLLIN};
    return poll(&at, 1, timeout_ms) == 1;
}

/* Until the server has accepted all that came before. */
static void settle(void)
{
    struct script_conn conn;
    struct script_app asks = {.sequence = 0};
    script_hello(&asks, server.url);
    script_expect(&asks.control, WIRE_WELCOME);
    conn = asks.control;
    script_close(&conn);
}

Test(strangers, who_says_nothing_is_no_client)
{
    script_server_start(&server, "clients = 8\n");
    for (int i = 0; i < 8; i++) {
        silent[i] = stranger("127.0.0.1", server.url);
    }
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    for (int i = 0; i < 8; i++) {
        cr_expect_not(closed(silent[i], 0), "there was room for all");
    }
}

Test(strangers, the_source_with_most_connections_makes_room)
{
    script_server_start(&server, "pending_connections = 16\n");
    silent[0] = stranger("127.0.0.2", server.url);
    for (int i = 1; i < SILENT; i++) {
        silent[i] = stranger("127.0.0.1", server.url);
        settle();
    }
    /* Sixteen, and a seventeenth for a moment: each time that it was there one had to go. */
    cr_expect_not(closed(silent[0], 0), "it is the oldest, and the only one of its address");
    script_server_says(&server, "another one needs its place");
    cr_expect(closed(silent[1], 5000), "the oldest of the others");
    cr_expect_not(closed(silent[SILENT - 1], 0));
    script_app_start(&app, server.url, 0);
}

Test(strangers, so_it_is_at_a_data_port)
{
    script_server_start(&server, "pending_connections = 16\n");
    script_app_start(&app, server.url, 0);
    silent[0] = stranger("127.0.0.2", app.address);
    for (int i = 1; i < SILENT; i++) {
        silent[i] = stranger("127.0.0.1", app.address);
        cr_assert_eq(script_map(&app, app.window + (uint64_t)i * 2 * MIB, 2 * MIB), 0);
    }
    int more = stranger("127.0.0.1", app.address);
    cr_expect(closed(silent[1], 5000));
    cr_expect_not(closed(silent[0], 0));
    cr_expect_not(closed(more, 0));
    script_server_says(&server, "another one needs its place");
    script_open(&app, 1); /* and who has a ticket comes through */
    struct script_conn conn;
    struct handshake_data_hello hello;
    script_connect_backend(&app, &conn, true);
    script_data_hello_fill(&app, &hello, HANDSHAKE_DATA, 1, SCRIPT_WINDOW);
    handshake_data_hello_write(script_begin(&conn), &hello);
    script_send(&conn, WIRE_DATA_HELLO, 0, 1);
    script_expect(&conn, WIRE_REFUSED); /* "open further devices on it": it was heard */
    script_close(&conn);
    close(more);
}

Test(strangers, a_first_message_is_bounded_at_a_data_port)
{
    const struct wire_header longer = {.length = WIRE_HELLO_MAX + 16, .opcode = WIRE_DATA_HELLO};
    const struct wire_header fits = {.length = WIRE_HELLO_MAX, .opcode = WIRE_DATA_HELLO};
    script_server_start(&server, "");
    script_app_start(&app, server.url, 0);
    struct script_conn conn, waits;
    script_connect(&conn, app.address);
    script_send_raw(&conn, &longer, sizeof longer);
    script_expect_end(&conn);
    script_close(&conn);
    script_server_says(&server, "its bytes are no gpuaas protocol");
    script_connect(&waits, app.address);
    script_send_raw(&waits, &fits, sizeof fits);
    cr_expect_not(closed(waits.conn.fd, 300), "the rest may come");
    script_close(&waits);
}

/* ---- clients that use nothing */

Test(strangers, a_client_that_uses_nothing_ends)
{
    script_server_start(&server, "idle_timeout_s = 1\nticket_s = 1\n");
    script_app_start(&app, server.url, 0);
    script_hello(&other, server.url);
    script_expect(&other.control, WIRE_WELCOME);
    uint64_t begin = ga_clock_ns();
    script_expect_end(&other.control);
    uint64_t ms = (ga_clock_ns() - begin) / GA_NS_PER_MS;
    cr_expect(ms >= 900 && ms < 10000, "%llu ms", (unsigned long long)ms);
    script_server_says(&server, "has used nothing for idle_timeout_s (1 s)");
    script_app_close(&other);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0, "who uses something stays");
    /* One that has a ticket and does not use it has nothing when that has expired. */
    script_hello(&other, server.url);
    script_expect(&other.control, WIRE_WELCOME);
    script_open(&other, 0);
    script_expect_end(&other.control);
}

/* The answer to a HELLO while there are as many clients as may be. */
static int32_t refusal(void)
{
    struct handshake_refused refused;
    struct script_app late = {.sequence = 0};
    script_hello(&late, server.url);
    if (script_receive(&late.control) == WIRE_WELCOME) {
        script_close(&late.control);
        return 0;
    }
    cr_assert_eq(late.control.header.opcode, WIRE_REFUSED);
    cr_assert_eq(handshake_refused_read(&late.control.values, &refused), GA_OK);
    cr_expect_not_null(strstr(refused.reason, "2 applications already"), "%s", refused.reason);
    script_expect_end(&late.control);
    script_close(&late.control);
    return refused.result;
}

Test(strangers, a_client_that_uses_nothing_makes_room)
{
    script_server_start(&server, "clients = 2\n");
    script_app_start(&app, server.url, 0);
    script_hello(&other, server.url);
    script_expect(&other.control, WIRE_WELCOME);
    cr_expect_eq(refusal(), 0);
    script_expect_end(&other.control);
    script_app_close(&other);
    script_app_start(&other, server.url, 1);
    cr_expect_eq(refusal(), CUDA_ERROR_NO_DEVICE, "both use devices");
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    cr_assert_eq(script_map(&other, other.window, 2 * MIB), 0);
}

/* ---- encrypted */

/* The beginning of a TLS handshake that never goes on: a record header and a part of the record. */
static void say_half(int fd)
{
    const uint8_t bytes[] = {22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3};
    cr_assert_eq(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), (ssize_t)sizeof bytes);
}

Test(strangers, handshakes_that_stand_still_keep_nobody_out)
{
    script_tls = true;
    script_server_start(&server, "pending_connections = 16\n");
    script_app_start(&app, server.url, 0);
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < SILENT; i++) {
            if (silent[i] > 0) {
                close(silent[i]); /* some while their step is in a thread */
            }
            silent[i] = stranger("127.0.0.1", i % 2 == 0 ? server.url : app.address);
            say_half(silent[i]);
        }
        script_app_start(&other, server.url, 1);
        cr_assert_eq(script_map(&other, other.window, 2 * MIB), 0);
        script_app_close(&other);
    }
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
}
