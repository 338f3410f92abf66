/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk connections: bytes of copies beside the data connection, in the order that it says; and
 * clients that ask for what is not theirs. */
#include <unistd.h>

#include "server/tests/bulk_app.h"

TestSuite(bulk, .init = start, .fini = stop, .timeout = 60);

Test(bulk, bytes_come_beside_in_the_order_of_calls)
{
    open_all();
    /* The piece that is sent last there is wanted first here. */
    script_send_raw(&bulks[2], from, 300);
    script_send_raw(&bulks[0], from + 300, 200000);
    script_send_raw(&bulks[0], from + 200300, 1001);
    piece_in(0, 300, 3, 0);
    piece_in(300, 200000, 1, 0);
    script_copy_in(&app, app.window + 201301, from + 201301, 5000, 0);
    piece_in(200300, 1001, 1, 0);
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

/* ---- what ends the connection */

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
    piece_in(0, 300, 1, 0);
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
    piece_in(0, WIRE_CHUNK + 1, 1, 0);
    expect_the_end();
}

/* The program goes as if its data connection were lost, and the process with it. */
Test(bulk, one_that_is_lost_ends_the_session)
{
    open_all();
    piece_in(0, 1000, 2, 0);
    script_send_raw(&bulks[1], from, 999);
    script_close(&bulks[1]);
    while (script_receive(&app.data) != 0) {
    }
    script_server_wait_backends(&server, 0);
}
