/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that are slow, on purpose or not: a byte at a time in the greeting, in a header, in a
 * body; one that reads slowly; and one that never reads. Before it has shown a ticket a connection
 * has a limit in time; after that it costs bounded memory, and nobody else waits for it. Over what:
 * GPUAAS_TEST_TRANSPORT (tcp, shm, tls, rdma). */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/tests/script.h"

#define MIB        (UINT64_C(1) << 20)
#define SILENT     20  /* more connections than a backend process hears at a time */
#define UNREAD     100 /* requests: as many as any transport takes before the other end reads */
#define PIECE      (4 * MIB)
#define GROWTH_MAX (64 * MIB) /* 8 MiB of queue, the slots, and what a sanitizer adds */

static struct script_server server;
static struct script_app app, other;

static bool over(const char *transport)
{
    const char *chosen = getenv("GPUAAS_TEST_TRANSPORT");
    return chosen != NULL && strcmp(chosen, transport) == 0;
}

static void start(void)
{
    script_shm = over("shm");
    script_tls = over("tls");
    script_rdma = over("rdma") ? getenv("GPUAAS_TEST_RDMA") : NULL;
    script_server_start(&server, script_tls || script_rdma != NULL ? "handshake_timeout_s = 2\n"
                                                                   : "handshake_timeout_s = 1\n");
}

static void stop(void)
{
    script_app_close(&app);
    script_app_close(&other);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(slow, .init = start, .fini = stop, .timeout = 120);

/* A byte each `step_ms`; until all are sent or the other end has closed. False: it has. */
static bool send_slowly(struct script_conn *conn, const void *bytes, size_t size, int step_ms)
{
    for (size_t i = 0; i < size; i++) {
        struct pollfd fds[TRANSPORT_POLL_MAX];
        uint8_t byte;
        size_t got;
        unsigned count = conn->conn.ops->poll_prepare(&conn->conn, POLLIN, fds);
        if (count == 0 || poll(fds, count, step_ms) > 0) {
            enum ga_status status = conn->conn.ops->receive(&conn->conn, &byte, 1, &got);
            cr_assert_neq(status, GA_OK, "it says something");
            if (status == GA_LOST) {
                return false;
            }
        }
        script_send_raw(conn, (const uint8_t *)bytes + i, 1);
    }
    return true;
}

/* The other application works as if nothing were. */
static void expect_unaffected(void)
{
    static uint8_t from[MIB], to[MIB];
    memset(from, 0x77, sizeof from);
    memset(to, 0, sizeof to);
    script_copy_in(&other, other.window, from, sizeof from, 0);
    cr_assert_eq(script_copy_out(&other, other.window, to, sizeof to, 0), 0);
    cr_assert_eq(memcmp(from, to, sizeof to), 0);
}

static void start_other(void)
{
    script_app_start(&other, server.url, 1);
    cr_assert_eq(script_map(&other, other.window, 2 * MIB), 0);
}

/* A slow greeting is cut off when its time is up, and not much later. */
static void expect_cut_off(struct script_conn *conn, const void *first, size_t size)
{
    uint8_t zeros[4096] = {0};
    uint64_t begin = ga_clock_ns();
    cr_assert(send_slowly(conn, first, size, 10));
    cr_assert_not(send_slowly(conn, zeros, sizeof zeros, 20), "it may say that for ever");
    uint64_t ms = (ga_clock_ns() - begin) / GA_NS_PER_MS;
    cr_assert(ms > 500 && ms < 15000, "%llu ms", (unsigned long long)ms);
    script_expect_end(conn);
    script_close(conn);
}

/* To the same place, without TLS. */
static void connect_plainly(struct script_conn *conn, const char *url)
{
    char plain[160];
    cr_assert(strlen(url) < sizeof plain);
    snprintf(plain, sizeof plain, "%.3s%s", script_tls ? "tcp" : url, url + 3);
    script_connect(conn, plain);
}

/* The beginning of what TLS says first, and that there will be 4096 bytes. */
static void expect_slow_tls_cut_off(const char *url)
{
    const uint8_t record[] = {22, 3, 1, 16, 0};
    struct script_conn conn;
    connect_plainly(&conn, url);
    expect_cut_off(&conn, record, sizeof record);
}

Test(slow, a_greeting_has_a_limit_in_time)
{
    const struct wire_header hello = {.opcode = WIRE_HELLO, .length = WIRE_HELLO_MAX};
    const struct wire_header data_hello = {.opcode = WIRE_DATA_HELLO, .length = WIRE_HELLO_MAX};
    struct script_conn conn;
    script_connect(&conn, server.url);
    expect_cut_off(&conn, &hello, sizeof hello);
    script_app_start(&app, server.url, 0);
    start_other();
    if (script_tls) {
        expect_slow_tls_cut_off(server.url);
        expect_slow_tls_cut_off(app.address);
    } else {
        script_connect(&conn, app.address);
        expect_cut_off(&conn, &data_hello, sizeof data_hello);
        script_connect_backend(&app, &conn, true);
        expect_cut_off(&conn, &data_hello, sizeof data_hello);
    }
    expect_unaffected();
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
}

Test(slow, many_that_say_nothing_keep_nobody_out_for_long)
{
    struct script_conn silent[SILENT], late;
    struct handshake_data_hello hello;
    script_hello(&app, server.url);
    script_expect(&app.control, WIRE_WELCOME);
    script_open(&app, 0);
    for (int i = 0; i < SILENT; i++) {
        connect_plainly(&silent[i], app.address);
    }
    script_connect_backend(&app, &late, true);
    script_data_hello_fill(&app, &hello, HANDSHAKE_DATA, 0, SCRIPT_WINDOW);
    handshake_data_hello_write(script_begin(&late), &hello);
    script_send(&late, WIRE_DATA_HELLO, 0, 1);
    script_expect(&late, WIRE_DATA_WELCOME);
    for (int i = 0; i < SILENT; i++) {
        script_expect_end(&silent[i]);
        script_close(&silent[i]);
    }
    script_close(&late);
}

Test(slow, frames_may_come_a_byte_at_a_time)
{
    uint8_t seen[64];
    struct {
        struct wire_header header;
        uint8_t values[32], bytes[64];
    } frame = {.values = {0}};
    script_app_start(&app, server.url, 0);
    start_other();
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    struct ga_writer writer = ga_writer_of(frame.values, sizeof frame.values);
    const struct ga_copy_in_args args = {.dst = app.window, .bytes = sizeof frame.bytes};
    ga_copy_in_args_write(&writer, &args);
    ga_writer_finish(&writer);
    cr_assert_eq(writer.at, sizeof frame.values, "the bulk follows at once");
    frame.header = (struct wire_header){.opcode = API_OP_ga_copy_in,
                                        .length = (uint32_t)(sizeof frame - sizeof frame.header),
                                        .session = 1,
                                        .sequence = app.sequence++};
    for (int i = 0; i < 64; i++) {
        frame.bytes[i] = (uint8_t)(200 - i);
    }
    for (size_t at = 0; at < sizeof frame; at += 8) {
        cr_assert(send_slowly(&app.data, (uint8_t *)&frame + at, 8, 2));
        expect_unaffected();
    }
    cr_assert_eq(script_copy_out(&app, app.window, seen, sizeof seen, 0), 0);
    cr_assert_eq(memcmp(seen, frame.bytes, sizeof seen), 0);
}

static uint64_t resident_bytes(pid_t pid)
{
    char path[64];
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%*u %llu", &pages), 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* How much the backend process grows by an application that asks for much and reads nothing; in
 * half a second, or as long as it takes to become `least`. */
static uint64_t growth_unread(uint64_t least)
{
    pid_t backend;
    uint64_t growth = 0;
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_server_backends(&server, &backend, 1), 1);
    cr_assert_eq(script_map(&app, app.window, PIECE), 0);
    uint8_t *seen = malloc(PIECE);
    cr_assert_eq(script_copy_out(&app, app.window, seen, PIECE, 0), 0); /* all pages are there */
    free(seen);
    uint64_t before = resident_bytes(backend);
    start_other();
    for (int i = 0; i < UNREAD; i++) {
        const struct ga_copy_out_args args = {.src = app.window, .bytes = PIECE};
        ga_copy_out_args_write(script_begin(&app.data), &args);
        script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    }
    for (int i = 0; i < 10 || (growth < least && i < 600); i++) {
        expect_unaffected();
        usleep(50000);
        growth = resident_bytes(backend) - before;
    }
    return growth;
}

Test(slow, who_never_reads_costs_bounded_memory)
{
    uint64_t growth = growth_unread(0);
    cr_assert(growth < GROWTH_MAX, "%llu MiB more", (unsigned long long)(growth >> 20));
}

Test(slow, the_bound_is_the_operators)
{
    script_server_stop(&server);
    script_server_start(&server, "session_queue_bytes = 128MiB\n");
    uint64_t growth = growth_unread(100 * MIB);
    cr_assert(growth >= 100 * MIB, "%llu MiB more", (unsigned long long)(growth >> 20));
}

Test(slow, who_reads_slowly_gets_everything)
{
    enum { COPIES = 8 };
    uint8_t *from = malloc(PIECE);
    for (size_t i = 0; i < PIECE; i++) {
        from[i] = (uint8_t)(i * 7 + i / 251);
    }
    script_app_start(&app, server.url, 0);
    start_other();
    cr_assert_eq(script_map(&app, app.window, PIECE), 0);
    script_copy_in(&app, app.window, from, PIECE, 0);
    for (int i = 0; i < COPIES; i++) {
        const struct ga_copy_out_args args = {.src = app.window, .bytes = PIECE};
        ga_copy_out_args_write(script_begin(&app.data), &args);
        script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    }
    for (int i = 0; i < COPIES; i++) {
        uint64_t came = 0;
        expect_unaffected();
        while (script_receive(&app.data) == WIRE_DATA) {
            uint64_t offset = ga_read_u64(&app.data.values);
            uint64_t bytes = ga_read_u64(&app.data.values);
            cr_assert(offset == came && bytes <= PIECE - came);
            cr_assert_eq(memcmp(app.data.values.data + 16, from + offset, bytes), 0);
            came += bytes;
            usleep(5000);
        }
        cr_assert_eq(app.data.header.opcode, WIRE_REPLY);
        cr_assert_eq(ga_read_i32(&app.data.values), 0);
        cr_assert_eq(came, PIECE);
    }
    free(from);
}
