/* Bulk connections: bytes of copies beside the data connection, in the order that it says; and
 * clients that ask for what is not theirs. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/tests/script.h"

#define MIB    (UINT64_C(1) << 20)
#define BULKS  3u
#define TICKET 48u

static struct script_server server;
static struct script_app app;
static struct script_conn bulks[BULKS];
static uint8_t tickets[WIRE_BULKS_MOST * TICKET];
static uint8_t from[MIB], to[MIB];

static void start(void)
{
    script_server_start(&server, "bulk_connections = 3\nticket_s = 2\n");
    script_app_start(&app, server.url, 0);
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i * 7 + i / 251);
    }
}

static void stop(void)
{
    for (unsigned i = 0; i < BULKS; i++) {
        script_close(&bulks[i]);
    }
    script_app_close(&app);
    script_server_wait_backends(&server, 0);
    script_server_stop(&server);
}

TestSuite(bulk, .init = start, .fini = stop, .timeout = 60);

/* The same application anew, as one that takes packed bytes. */
static void start_packing(void)
{
    script_app_close(&app);
    script_takes = HANDSHAKE_TAKES_PACKED | HANDSHAKE_WANTS_PACKED;
    script_app_start(&app, server.url, 0);
    script_takes = 0;
    cr_assert_eq(script_map(&app, app.window, 2 * MIB), 0);
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(i / 100);
    }
}

static uint32_t ask(void)
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
static void hello(struct script_conn *conn, unsigned ticket, uint32_t as, uint32_t kind)
{
    struct handshake_data_hello hello;
    script_connect(conn, app.address);
    script_data_hello_fill(&app, &hello, kind, as, 0);
    memcpy(hello.id, tickets + ticket * TICKET, sizeof hello.id);
    memcpy(hello.key, tickets + ticket * TICKET + sizeof hello.id, sizeof hello.key);
    handshake_data_hello_write(script_begin(conn), &hello);
    script_send(conn, WIRE_DATA_HELLO, 0, 9);
}

static void use(uint32_t connections)
{
    const struct ga_bulk_use_args args = {.connections = connections};
    ga_bulk_use_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_bulk_use, 1, app.sequence++);
}

static void open_all(void)
{
    cr_assert_eq(ask(), BULKS);
    for (unsigned i = 0; i < BULKS; i++) {
        hello(&bulks[i], i, i, HANDSHAKE_BULK);
        script_expect(&bulks[i], WIRE_DATA_WELCOME);
        cr_assert_eq(bulks[i].header.sequence, 9);
    }
    use(BULKS);
}

static void prefix(uint32_t connection, uint32_t packed)
{
    struct ga_writer *writer = script_begin(&app.data);
    ga_write_u32(writer, connection);
    ga_write_u32(writer, packed);
    script_send(&app.data, WIRE_BULK, 0, 0);
}

static void piece_in(uint64_t at, uint64_t bytes, unsigned connection)
{
    const struct ga_copy_in_args args = {.dst = app.window + at, .bytes = bytes};
    prefix(connection + 1, 0);
    ga_copy_in_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_in, 1, app.sequence++);
}

/* A copy out whose pieces may come anywhere; how many of them came beside, or packed. */
static unsigned copy_out(uint64_t bytes)
{
    const struct ga_copy_out_args args = {.src = app.window, .bytes = bytes};
    unsigned beside = 0, connection = 0, packed = 0;
    uint16_t opcode;
    memset(to, 0, bytes);
    ga_copy_out_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_copy_out, 1, app.sequence++);
    while ((opcode = script_receive(&app.data)) != WIRE_REPLY) {
        if (opcode == WIRE_BULK) {
            connection = ga_read_u32(&app.data.values);
            packed = ga_read_u32(&app.data.values);
            cr_assert(packed != 0 ? connection == 0 : connection >= 1 && connection <= BULKS);
            beside++;
            continue;
        }
        cr_assert_eq(opcode, WIRE_DATA);
        uint64_t offset = ga_read_u64(&app.data.values), piece = ga_read_u64(&app.data.values);
        cr_assert(piece <= bytes && offset <= bytes - piece);
        if (packed != 0) {
            cr_assert_eq(app.data.header.length, 16 + wire_padded(packed));
            cr_assert_eq(pack_open(app.data.values.data + 16, packed, to + offset, piece), GA_OK);
            packed = 0;
        } else if (connection == 0) {
            memcpy(to + offset, app.data.values.data + 16, piece);
        } else {
            cr_assert_eq(app.data.header.length, 16);
            struct transport_conn *conn = &bulks[connection - 1].conn;
            for (uint64_t got = 0; got < piece;) {
                size_t more;
                struct pollfd fd = {.fd = conn->fd, .events = POLLIN};
                enum ga_status status =
                    conn->ops->receive(conn, to + offset + got, piece - got, &more);
                cr_assert(status == GA_OK || (status == GA_AGAIN && poll(&fd, 1, 20000) == 1));
                got += status == GA_OK ? more : 0;
            }
        }
        connection = 0;
    }
    cr_assert_eq(ga_read_i32(&app.data.values), 0);
    return beside;
}

Test(bulk, bytes_come_beside_in_the_order_of_calls)
{
    open_all();
    /* What is sent last there is wanted first here. */
    script_send_raw(&bulks[2], from, 300);
    script_send_raw(&bulks[0], from + 300, 200000);
    script_send_raw(&bulks[0], from + 200300, 1001);
    piece_in(0, 300, 2);
    piece_in(300, 200000, 0);
    script_copy_in(&app, app.window + 201301, from + 201301, 5000, 0);
    piece_in(200300, 1001, 0);
    cr_assert_eq(copy_out(206301), 1, "pieces that are large enough");
    cr_expect_eq(memcmp(from, to, 206301), 0);
}

Test(bulk, copies_out_come_beside)
{
    open_all();
    script_copy_in(&app, app.window, from, sizeof from, 0);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(copy_out(MIB - 5), 4);
        cr_expect_eq(memcmp(from, to, MIB - 5), 0);
    }
}

Test(bulk, fewer_than_granted_are_enough)
{
    cr_assert_eq(ask(), BULKS);
    cr_assert_eq(ask(), 0, "once");
    hello(&bulks[0], 0, 0, HANDSHAKE_BULK);
    script_expect(&bulks[0], WIRE_DATA_WELCOME);
    use(1);
    script_copy_in(&app, app.window, from, MIB, 0);
    cr_assert_eq(copy_out(MIB), 4);
    cr_expect_eq(memcmp(from, to, MIB), 0);
}

Test(bulk, a_ticket_is_for_one_connection_and_once)
{
    struct script_conn other;
    cr_assert_eq(ask(), BULKS);
    hello(&other, 1, 0, HANDSHAKE_BULK);
    script_expect(&other, WIRE_REFUSED);
    script_close(&other);
    hello(&other, 1, 1, HANDSHAKE_DATA);
    script_expect(&other, WIRE_REFUSED);
    script_close(&other);
    hello(&other, 1, 1, HANDSHAKE_SIDE);
    script_expect(&other, WIRE_REFUSED);
    script_close(&other);
    hello(&bulks[1], 1, 1, HANDSHAKE_BULK);
    script_expect(&bulks[1], WIRE_DATA_WELCOME);
    hello(&other, 1, 1, HANDSHAKE_BULK);
    script_expect(&other, WIRE_REFUSED);
    script_close(&other);
    memcpy(tickets, app.ticket.id, sizeof app.ticket.id); /* that of the data connection */
    memcpy(tickets + sizeof app.ticket.id, app.ticket.key, sizeof app.ticket.key);
    hello(&other, 0, 0, HANDSHAKE_BULK);
    script_expect(&other, WIRE_REFUSED);
    script_close(&other);
    tickets[2 * TICKET + 20] ^= 1;
    hello(&other, 2, 2, HANDSHAKE_BULK);
    script_expect(&other, WIRE_REFUSED);
    script_close(&other);
    tickets[2 * TICKET + 20] ^= 1;
    usleep(2200000); /* ticket_s */
    hello(&other, 2, 2, HANDSHAKE_BULK);
    script_expect(&other, WIRE_REFUSED);
    script_close(&other);
    script_copy_in(&app, app.window, from, MIB, 0); /* none of that has disturbed */
    cr_assert_eq(copy_out(MIB), 0);
    cr_expect_eq(memcmp(from, to, MIB), 0);
}

Test(bulk, who_speaks_before_the_welcome_is_dropped)
{
    struct script_conn other;
    struct handshake_data_hello said;
    const struct wire_header early = {.opcode = WIRE_PING};
    cr_assert_eq(ask(), BULKS);
    script_connect(&other, app.address);
    script_data_hello_fill(&app, &said, HANDSHAKE_BULK, 0, 0);
    memcpy(said.id, tickets, sizeof said.id);
    memcpy(said.key, tickets + sizeof said.id, sizeof said.key);
    handshake_data_hello_write(script_begin(&other), &said);
    /* In one piece, so that both are there when the first is read. */
    memcpy(other.frame + sizeof early + other.writer.at, &early, sizeof early);
    const struct wire_header first = {
        .length = (uint32_t)other.writer.at, .opcode = WIRE_DATA_HELLO, .sequence = 9};
    memcpy(other.frame, &first, sizeof first);
    script_send_raw(&other, other.frame, 2 * sizeof first + other.writer.at);
    script_expect_end(&other);
    script_close(&other);
    cr_assert_eq(script_stream_synchronize(&app, 0), 0);
}

/* ---- packed bytes */

static void packed_in(uint64_t at, uint64_t bytes, const void *packed, uint32_t packed_bytes)
{
    const struct ga_copy_in_args args = {.dst = app.window + at, .bytes = bytes};
    prefix(0, packed_bytes);
    ga_copy_in_args_write(script_begin(&app.data), &args);
    script_send_bulk(&app.data, API_OP_ga_copy_in, 1, app.sequence++, packed, packed_bytes);
}

Test(bulk, packed_pieces_both_ways)
{
    static uint8_t packed[WIRE_CHUNK];
    start_packing();
    for (uint64_t at = 0; at < MIB; at += WIRE_CHUNK) {
        size_t size = pack_close(from + at, WIRE_CHUNK, packed);
        cr_assert_neq(size, 0);
        packed_in(at, WIRE_CHUNK, packed, (uint32_t)size);
    }
    script_copy_in(&app, app.window + 3, from + 3, 4, 0); /* a plain one that is smaller */
    cr_assert_eq(copy_out(MIB), 4);
    cr_expect_eq(memcmp(from, to, MIB), 0);
}

Test(bulk, noise_is_not_packed)
{
    start_packing();
    srand(1);
    for (size_t i = 0; i < sizeof from; i++) {
        from[i] = (uint8_t)(rand() >> 7);
    }
    script_copy_in(&app, app.window, from, MIB, 0);
    cr_assert_eq(copy_out(MIB), 0);
    cr_expect_eq(memcmp(from, to, MIB), 0);
}

/* ---- what ends the connection */

static void expect_the_end(void)
{
    uint16_t opcode;
    while ((opcode = script_receive(&app.data)) != 0) {
        cr_assert(opcode == WIRE_ERROR || opcode == WIRE_FAULT, "opcode %u", opcode);
    }
    script_server_says(&server, "break the protocol");
}

Test(bulk, connections_that_are_not_there_cannot_be_used)
{
    cr_assert_eq(ask(), BULKS);
    hello(&bulks[0], 0, 0, HANDSHAKE_BULK);
    script_expect(&bulks[0], WIRE_DATA_WELCOME);
    use(2);
    script_expect(&app.data, WIRE_ERROR);
    prefix(1, 0);
    expect_the_end();
}

Test(bulk, they_are_put_to_use_once)
{
    open_all();
    use(BULKS);
    script_expect(&app.data, WIRE_ERROR);
    script_send_raw(&bulks[0], from, 300);
    piece_in(0, 300, 0);
    cr_assert_eq(copy_out(300), 0, "a piece that is too small to come beside");
    cr_expect_eq(memcmp(from, to, 300), 0);
}

Test(bulk, nothing_comes_beside_before_they_are_used)
{
    prefix(1, 0);
    expect_the_end();
}

Test(bulk, a_connection_that_is_none)
{
    open_all();
    prefix(BULKS + 1, 0);
    expect_the_end();
}

Test(bulk, a_prefix_of_a_prefix)
{
    open_all();
    prefix(1, 0);
    prefix(1, 0);
    expect_the_end();
}

Test(bulk, a_prefix_of_a_call_without_bulk)
{
    open_all();
    prefix(1, 0);
    const struct ga_stream_synchronize_args args = {0};
    ga_stream_synchronize_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_stream_synchronize, 1, app.sequence++);
    expect_the_end();
}

Test(bulk, a_prefix_of_a_module)
{
    open_all();
    prefix(1, 0);
    const struct ga_module_load_args args = {.image_bytes = 0};
    ga_module_load_args_write(script_begin(&app.data), &args);
    script_send(&app.data, API_OP_ga_module_load, 1, app.sequence++);
    expect_the_end();
}

Test(bulk, bytes_here_and_there)
{
    open_all();
    const struct ga_copy_in_args args = {.dst = app.window, .bytes = 64};
    prefix(1, 0);
    ga_copy_in_args_write(script_begin(&app.data), &args);
    script_send_bulk(&app.data, API_OP_ga_copy_in, 1, app.sequence++, from, 64);
    expect_the_end();
}

Test(bulk, more_than_a_piece)
{
    open_all();
    piece_in(0, WIRE_CHUNK + 1, 0);
    expect_the_end();
}

Test(bulk, packed_bytes_that_nobody_has_agreed_on)
{
    prefix(0, 32);
    expect_the_end();
}

Test(bulk, packed_and_beside)
{
    start_packing();
    open_all();
    prefix(1, 32);
    expect_the_end();
}

Test(bulk, packed_bytes_that_are_none)
{
    uint8_t noise[64];
    start_packing();
    memset(noise, 0xff, sizeof noise);
    packed_in(0, 4096, noise, sizeof noise);
    expect_the_end();
}

/* They would become more than the piece says, which is all there is room for. */
Test(bulk, packed_bytes_that_are_too_many)
{
    static uint8_t packed[WIRE_CHUNK];
    start_packing();
    size_t size = pack_close(from, 100000, packed);
    packed_in(0, 99999, packed, (uint32_t)size);
    expect_the_end();
}

Test(bulk, packed_bytes_that_are_too_few)
{
    static uint8_t packed[WIRE_CHUNK];
    start_packing();
    size_t size = pack_close(from, 100000, packed);
    packed_in(0, 100001, packed, (uint32_t)size);
    expect_the_end();
}

Test(bulk, packed_bytes_more_than_plain_ones)
{
    start_packing();
    packed_in(0, 16, from, 32);
    expect_the_end();
}

Test(bulk, a_packed_module)
{
    start_packing();
    prefix(0, 32);
    const struct ga_module_load_args args = {.image_bytes = 32};
    ga_module_load_args_write(script_begin(&app.data), &args);
    script_send_bulk(&app.data, API_OP_ga_module_load, 1, app.sequence++, from, 32);
    expect_the_end();
}

/* The program goes as if its data connection were lost, and the process with it. */
Test(bulk, one_that_is_lost_ends_the_session)
{
    open_all();
    piece_in(0, 1000, 1);
    script_send_raw(&bulks[1], from, 999);
    script_close(&bulks[1]);
    while (script_receive(&app.data) != 0) {
    }
    script_server_wait_backends(&server, 0);
}
