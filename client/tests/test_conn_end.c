/* SPDX-License-Identifier: Apache-2.0 */
/* How a connection ends, in every state. A test that hangs ends by the time limit of ctest. */
#include <stdio.h>

#include "client/tests/peer.h"

#define THREADS 8

Test(conn, end_while_waiting)
{
    struct peer peer = peer_connect();
    struct pending_reply *record = call_with(peer.conn, 0, true, NULL);
    close(peer.fd);
    expect_lost(peer.conn, record);
}

Test(conn, end_while_idle)
{
    struct peer peer = peer_connect();
    close(peer.fd);
    struct pending_reply *record = call_with(peer.conn, 0, true, NULL);
    if (record != NULL) { /* the first bytes may still leave */
        expect_lost(peer.conn, record);
    }
    cr_assert_eq(client_conn_lock(peer.conn, 16), CONN_LOST);
}

Test(conn, end_inside_an_answer)
{
    struct peer peer = peer_connect();
    struct pending_reply *record = call_with(peer.conn, 0, true, NULL);
    struct wire_header header = {.length = 32, .opcode = WIRE_REPLY, .sequence = record->sequence};
    peer_write(&peer, &header, sizeof header);
    peer_write(&peer, &header, 8);
    close(peer.fd);
    expect_lost(peer.conn, record);
}

Test(conn, end_inside_a_chunk)
{
    struct peer peer = peer_connect();
    static uint8_t to[WIRE_CHUNK];
    struct reply_action want = {
        .context = 1, .to = to, .bytes = sizeof to, .width = sizeof to, .pitch = sizeof to};
    struct pending_reply *record = call_with(peer.conn, 0, true, &want);
    uint64_t values[2] = {0, sizeof to};
    struct wire_header header = {
        .length = 16 + sizeof to, .opcode = WIRE_DATA, .sequence = record->sequence};
    peer_write(&peer, &header, sizeof header);
    peer_write(&peer, values, sizeof values);
    peer_write(&peer, to, sizeof to / 2);
    close(peer.fd);
    expect_lost(peer.conn, record);
}

/* A good answer, and before it those pieces of 1000 bytes each, of a copy of 2000. */
static void expect_pieces_lost(const uint64_t *offsets, unsigned count)
{
    struct peer peer = peer_connect();
    static uint8_t to[2000];
    struct reply_action want = {
        .context = 1, .to = to, .bytes = 2000, .width = 2000, .pitch = 2000};
    struct pending_reply *record = call_with(peer.conn, 0, true, &want);
    for (unsigned i = 0; i < count; i++) {
        cr_assert(peer_chunk(&peer, record->sequence, offsets[i], 1000));
    }
    peer_reply(&peer, WIRE_REPLY, record->sequence, 0, 0);
    expect_lost(peer.conn, record);
}

Test(conn, end_by_an_answer_whose_bytes_are_not_all_here)
{
    expect_pieces_lost(NULL, 0);
    expect_pieces_lost((const uint64_t[]){0}, 1);
}

Test(conn, end_by_pieces_out_of_turn)
{
    expect_pieces_lost((const uint64_t[]){1000, 0}, 2);
    expect_pieces_lost((const uint64_t[]){0, 0}, 2);
    expect_pieces_lost((const uint64_t[]){0, 1000, 1000}, 3);
}

static void *close_soon(void *at)
{
    usleep(50000);
    close(((struct peer *)at)->fd);
    return NULL;
}

Test(conn, end_while_sending)
{
    struct peer peer = peer_connect();
    pthread_t server;
    uint8_t *out = calloc(1, WIRE_CHUNK);
    pthread_create(&server, NULL, close_soon, &peer);
    bool alive = true;
    for (int i = 0; i < 1000 && alive; i++) {
        alive = send_bulk(peer.conn, out, WIRE_CHUNK);
    }
    cr_assert_not(alive);
    pthread_join(server, NULL);
    free(out);
}

struct sleeper {
    pthread_t thread;
    struct client_conn *conn;
    struct pending_reply *record;
    int result;
};

static void *sleep_until_answer(void *at)
{
    struct sleeper *sleeper = at;
    sleeper->result = finish(sleeper->conn, sleeper->record, NULL);
    return NULL;
}

/* Everybody wakes, whoever reads. */
static void all_end_with(struct peer *peer, int due)
{
    struct sleeper sleepers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        sleepers[i].conn = peer->conn;
        sleepers[i].record = call_with(peer->conn, 0, true, NULL);
        pthread_create(&sleepers[i].thread, NULL, sleep_until_answer, &sleepers[i]);
    }
    usleep(50000);
    if (due == CONN_LOST) {
        client_conn_lose(peer->conn, "the test says so");
    } else {
        struct {
            struct wire_header header;
            int32_t result;
            uint32_t length;
            char text[8];
        } fault = {.header = {.length = 16, .opcode = WIRE_FAULT},
                   .result = due,
                   .length = 5,
                   .text = "fault"};
        peer_write(peer, &fault, sizeof fault);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(sleepers[i].thread, NULL);
        cr_assert_eq(sleepers[i].result, due);
    }
    cr_assert_eq(client_conn_lock(peer->conn, 16), due);
}

Test(conn, a_fault_ends_every_wait)
{
    struct peer peer = peer_connect();
    all_end_with(&peer, 700);
}

Test(conn, a_loss_seen_elsewhere_ends_every_wait)
{
    struct peer peer = peer_connect();
    all_end_with(&peer, CONN_LOST);
}

/* ---- answers that are none */

static void lost_after(struct wire_header header, const void *content)
{
    struct peer peer = peer_connect();
    static uint8_t to[64];
    struct reply_action want = {.context = 1, .to = to, .bytes = 64, .width = 64, .pitch = 64};
    struct pending_reply *record = call_with(peer.conn, 0, true, &want);
    header.sequence += record->sequence;
    peer_write(&peer, &header, sizeof header);
    peer_write(&peer, content, header.length < 512 ? header.length : 512);
    expect_lost(peer.conn, record);
    for (size_t i = 0; i < sizeof to; i++) {
        cr_assert_eq(to[i], 0);
    }
    close(peer.fd);
}

Test(conn, nonsense_ends_the_conn)
{
    static const uint8_t zeros[512];
    uint64_t behind[64] = {60, 8}, none[64] = {0, 0}, wide[64] = {0, 80};
    lost_after((struct wire_header){.length = 16, .opcode = 99}, zeros);
    lost_after((struct wire_header){.length = 17, .opcode = WIRE_REPLY}, zeros);
    lost_after((struct wire_header){.length = 0, .opcode = WIRE_REPLY}, zeros);
    lost_after((struct wire_header){.length = 16, .opcode = WIRE_REPLY, .sequence = 5}, zeros);
    lost_after((struct wire_header){.length = 1u << 30, .opcode = WIRE_REPLY}, zeros);
    lost_after((struct wire_header){.length = 32, .opcode = WIRE_DATA}, behind);
    lost_after((struct wire_header){.length = 16, .opcode = WIRE_DATA}, none);
    lost_after((struct wire_header){.length = 96, .opcode = WIRE_DATA}, wide);
    lost_after((struct wire_header){.length = 16, .opcode = WIRE_FAULT}, zeros);
}
