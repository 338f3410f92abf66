/* SPDX-License-Identifier: Apache-2.0 */
/* An application with bulk connections, by script; the tests that include it drive it. */
#ifndef SERVER_TESTS_BULK_APP_H
#define SERVER_TESTS_BULK_APP_H

#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "server/tests/script.h"

#define MIB    (UINT64_C(1) << 20)
#define BULKS  3u
#define TICKET 48u

static struct script_server server;
static struct script_app app;
static struct script_conn bulks[BULKS];
static uint8_t tickets[WIRE_BULKS_MAX * TICKET];
static uint8_t from[MIB], to[MIB];
static unsigned compressed_and_beside; /* pieces that came so */

static inline void start(void)
{
    script_server_start(&server, "bulk_connections = 3\nticket_s = 2\n");
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i * 7 + i / 251);
    }
}

static inline void stop(void)
{
    for (unsigned i = 0; i < BULKS; i++) {
        script_close(&bulks[i]);
    }
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

static inline uint32_t ask(void)
{
    struct ga_bulk_open_results results;
    (void)script_begin(&app.data);
    script_send(&app.data, API_OP_ga_bulk_open, 1, app.sequence);
    cr_assert_eq(script_wait(&app, app.sequence++), 0);
    ga_bulk_open_results_read(&app.data.values, &results);
    cr_assert(ga_reader_done(&app.data.values));
    cr_assert_eq(results.ticket_bytes, results.connections * TICKET);
    if (results.connections != 0) {
        memcpy(tickets, results.tickets, results.ticket_bytes);
    }
    return results.connections;
}

/* With the ticket of one, as number `as`. */
static inline void hello(struct script_conn *conn, unsigned ticket, uint32_t as, uint32_t kind)
{
    struct handshake_data_hello hello;
    script_connect(conn, app.address);
    script_data_hello_fill(&app, &hello, kind, as, 0);
    memcpy(hello.id, tickets + ticket * TICKET, sizeof hello.id);
    memcpy(hello.key, tickets + ticket * TICKET + sizeof hello.id, sizeof hello.key);
    handshake_data_hello_write(script_begin(conn), &hello);
    script_send(conn, WIRE_DATA_HELLO, 0, 9);
}

static inline void use(uint32_t connections)
{
    const struct ga_bulk_use_args args = {.connections = connections};
    ga_bulk_use_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_bulk_use, 1, app.sequence++);
}

static inline void open_all(void)
{
    cr_assert_eq(ask(), BULKS);
    for (unsigned i = 0; i < BULKS; i++) {
        hello(&bulks[i], i, i, HANDSHAKE_BULK);
        script_expect(&bulks[i], WIRE_DATA_WELCOME);
        cr_assert_eq(bulks[i].header.sequence, 9);
    }
    use(BULKS);
}

static inline void prefix(uint32_t connection, uint32_t compressed)
{
    struct ga_writer *writer = script_begin(&app.data);
    ga_write_u32(writer, connection);
    ga_write_u32(writer, compressed);
    script_send(&app.data, WIRE_BULK, 0, 0);
}

/* A piece of a copy whose bytes come beside, in so many packed ones, or plain with 0. */
static inline void piece_in(uint64_t at, uint64_t bytes, uint32_t connection, uint32_t compressed)
{
    const struct ga_copy_in_args args = {.dst = app.window + at, .bytes = bytes};
    prefix(connection, compressed);
    ga_copy_in_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_in, 1, app.sequence++);
}

static inline void receive_beside(uint32_t connection, uint8_t *at, uint64_t bytes)
{
    struct transport_conn *conn = &bulks[connection - 1].conn;
    while (bytes != 0) {
        size_t more;
        struct pollfd fd = {.fd = conn->fd, .events = POLLIN};
        enum ga_status status = conn->ops->receive(conn, at, bytes, &more);
        cr_assert(status == GA_OK || (status == GA_AGAIN && poll(&fd, 1, 20000) == 1));
        at += status == GA_OK ? more : 0;
        bytes -= status == GA_OK ? more : 0;
    }
}

/* A copy out whose pieces may come anywhere; how many of them came beside, or packed. */
static inline unsigned copy_out(uint64_t bytes)
{
    const struct ga_copy_out_args args = {.src = app.window, .bytes = bytes};
    unsigned beside = 0, connection = 0, compressed = 0;
    uint16_t opcode;
    memset(to, 0, bytes);
    ga_copy_out_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    while ((opcode = script_receive(&app.data)) != WIRE_REPLY) {
        if (opcode == WIRE_BULK) {
            connection = ga_read_u32(&app.data.values);
            compressed = ga_read_u32(&app.data.values);
            cr_assert(compressed != 0 || connection != 0);
            cr_assert_leq(connection, BULKS);
            beside++;
            continue;
        }
        cr_assert_eq(opcode, WIRE_DATA);
        uint64_t offset = ga_read_u64(&app.data.values), piece = ga_read_u64(&app.data.values);
        cr_assert(piece <= bytes && offset <= bytes - piece);
        static uint8_t came[WIRE_CHUNK];
        uint64_t size = compressed != 0 ? compressed : piece;
        cr_assert_leq(size, sizeof came);
        if (connection == 0) {
            cr_assert_eq(app.data.header.length, 16 + wire_padded(size));
            memcpy(came, app.data.values.data + 16, size);
        } else {
            cr_assert_eq(app.data.header.length, 16);
            receive_beside(connection, came, size);
        }
        if (compressed != 0) {
            cr_assert_eq(decompress(came, compressed, to + offset, piece), GA_OK);
        } else {
            memcpy(to + offset, came, size);
        }
        compressed_and_beside += compressed != 0 && connection != 0;
        connection = compressed = 0;
    }
    cr_assert_eq(ga_read_i32(&app.data.values), 0);
    return beside;
}

static inline void expect_the_end(void)
{
    uint16_t opcode;
    while ((opcode = script_receive(&app.data)) != 0) {
        cr_assert(opcode == WIRE_ERROR || opcode == WIRE_FAULT, "opcode %u", opcode);
    }
    script_server_says(&server, "break the protocol");
}

#endif
