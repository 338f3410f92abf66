/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of copies to the host that come packed, or are said to; with a server that lies. And
 * pieces to the device that leave beside the data connection. */
#include "client/tests/peer.h"

TestSuite(conn_bulk, .timeout = 30);

/* A WIRE_BULK, then a frame, on a connection that takes packed bytes, or not. */
static void lost_after_bulk(bool compresses, uint32_t connection, uint32_t compressed,
                            struct wire_header header, const void *content)
{
    struct peer peer = peer_connect();
    static uint8_t to[400];
    const uint32_t values[4] = {connection, compressed};
    const struct wire_header bulk = {.length = sizeof values, .opcode = WIRE_BULK};
    struct reply_action want = {.context = 1, .to = to, .bytes = 200, .width = 200, .pitch = 200};
    peer.conn->compression.mode = compresses ? COMPRESSION_AUTO : COMPRESSION_OFF;
    struct pending_reply *record = call_with(peer.conn, 0, true, &want);
    header.sequence += record->sequence;
    peer_write(&peer, &bulk, sizeof bulk);
    peer_write(&peer, values, sizeof values);
    peer_write(&peer, &header, sizeof header);
    peer_write(&peer, content, header.length);
    expect_lost(peer.conn, record);
    for (size_t i = 200; i < sizeof to; i++) {
        cr_assert_eq(to[i], 0);
    }
    close(peer.fd);
}

Test(conn_bulk, nonsense_about_bulk_ends_the_conn)
{
    uint64_t here[64] = {0, 200}, small[64] = {0, 16}, large[64] = {0, 201}, beyond[64] = {190, 20};
    uint64_t bomb[64] = {0, 200, UINT64_C(0xffffffffffff001f), UINT64_MAX, UINT64_MAX};
    struct wire_header data = {.length = 48, .opcode = WIRE_DATA};
    lost_after_bulk(true, 1, 0, (struct wire_header){.length = 16, .opcode = WIRE_DATA}, here);
    lost_after_bulk(false, 0, 32, data, here);
    lost_after_bulk(true, 0, 0, data, here);
    lost_after_bulk(true, 1, 32, data, here);
    lost_after_bulk(true, 0, 32, data, here); /* no LZ4 */
    lost_after_bulk(true, 0, 24, data, bomb); /* more than is said */
    lost_after_bulk(true, 0, 32, data, small);
    lost_after_bulk(true, 0, 32, data, large);
    lost_after_bulk(true, 0, 16, (struct wire_header){.length = 32, .opcode = WIRE_DATA}, beyond);
    lost_after_bulk(true, 0, 64, data, here);
    lost_after_bulk(true, 0, WIRE_CHUNK, data, here);
    lost_after_bulk(true, 0, 32, (struct wire_header){.length = 16, .opcode = WIRE_REPLY}, here);
    lost_after_bulk(true, 0, 32, (struct wire_header){.length = 16, .opcode = WIRE_BULK}, small);
}

Test(conn_bulk, packed_pieces_are_opened)
{
    struct peer peer = peer_connect();
    static uint8_t plain[100000], compressed[100000], to[120 * 1000];
    peer.conn->compression.mode = COMPRESSION_AUTO;
    for (size_t i = 0; i < sizeof plain; i++) {
        plain[i] = (uint8_t)(i / 100);
    }
    for (uint64_t pitch = 100; pitch <= 120; pitch += 20) { /* in a row, and in rows */
        struct reply_action want = {
            .context = 1, .to = to, .bytes = sizeof plain, .width = 100, .pitch = pitch};
        memset(to, 0, sizeof to);
        uint32_t size = (uint32_t)compress(plain, sizeof plain, compressed);
        cr_assert_neq(size, 0);
        struct pending_reply *record = call_with(peer.conn, 0, true, &want);
        const struct {
            struct wire_header header;
            uint32_t connection, compressed, zeros[2];
        } bulk = {.header = {.length = 16, .opcode = WIRE_BULK}, .compressed = size};
        const struct {
            struct wire_header header;
            uint64_t offset, bytes;
        } data = {.header = {.length = 16 + wire_padded(size),
                             .opcode = WIRE_DATA,
                             .sequence = record->sequence},
                  .bytes = sizeof plain};
        peer_write(&peer, &bulk, sizeof bulk);
        peer_write(&peer, &data, sizeof data);
        peer_write(&peer, compressed, wire_padded(size));
        peer_reply(&peer, WIRE_REPLY, record->sequence, 0, 0);
        client_conn_wait(peer.conn, record);
        cr_assert_eq(record->result, 0);
        client_conn_release(peer.conn, record);
        for (size_t i = 0; i < sizeof plain; i++) {
            cr_assert_eq(to[i / 100 * pitch + i % 100], plain[i]);
        }
    }
    close(peer.fd);
}

/* ---- pieces that leave beside */

#define PIECE (4u << 20) /* more than sockets hold */
#define OTHER (16u << 20)

static uint8_t piece[PIECE], other[OTHER];

static void *give_two_pieces(void *at)
{
    struct client_conn *conn = at;
    struct conn_out_of_band out_of_band = {0};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(client_conn_lock_out_of_band(conn, 256), 0);
        client_conn_prefix(conn, 1, 0);
        memset(client_conn_at(conn) + sizeof(struct wire_header), 0, 16);
        (void)client_conn_frame(conn, 601, 1, 16, 0, true);
        client_conn_send_out_of_band(conn, piece, PIECE, &out_of_band);
        client_conn_unlock(conn, false);
    }
    client_conn_out_of_band_wait(conn, &out_of_band);
    return NULL;
}

static void *send_other(void *at)
{
    cr_assert(send_bulk(at, other, OTHER));
    return NULL;
}

static void *drain(void *at)
{
    const int *fd = at;
    static uint8_t bytes[65536];
    while (recv(*fd, bytes, sizeof bytes, 0) > 0) {
    }
    return NULL;
}

static void small_buffers(int ours, int theirs)
{
    int size = 65536;
    cr_assert_eq(setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
    cr_assert_eq(setsockopt(theirs, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
}

static void wait_for(struct client_conn *conn, const bool *what)
{
    bool there;
    do {
        usleep(1000);
        pthread_mutex_lock(&conn->send_lock);
        there = *what;
        pthread_mutex_unlock(&conn->send_lock);
    } while (!there);
}

static void expect_piece(int fd)
{
    static uint8_t came[PIECE];
    const struct timeval limit = {.tv_sec = 10};
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    for (size_t done = 0; done < PIECE;) {
        ssize_t got = recv(fd, came + done, PIECE - done, 0);
        cr_assert_gt(got, 0, "nobody sends what is left of a piece");
        done += (size_t)got;
    }
    cr_assert_eq(memcmp(came, piece, PIECE), 0);
}

/* A server reads on only when it has the piece: till then what the data connection has to take does
 * not leave. */
Test(conn_bulk, pieces_leave_while_another_thread_has_the_data_connection)
{
    struct peer peer = peer_connect();
    pthread_t pieces, others, drains;
    int fd;
    peer.conn->bulks[0].transport = peer_pair(&fd);
    atomic_store(&peer.conn->bulk_count, 1);
    small_buffers(peer.conn->data.fd, peer.fd);
    small_buffers(peer.conn->bulks[0].transport.fd, fd);
    memset(piece, 0x5a, sizeof piece);
    pthread_create(&pieces, NULL, give_two_pieces, peer.conn);
    wait_for(peer.conn, &peer.conn->pumping); /* for room for the second */
    pthread_create(&others, NULL, send_other, peer.conn);
    wait_for(peer.conn, &peer.conn->exclusive);
    expect_piece(fd);
    pthread_create(&drains, NULL, drain, &peer.fd);
    expect_piece(fd);
    pthread_join(pieces, NULL);
    pthread_join(others, NULL);
    cr_assert_eq(atomic_load(&peer.conn->facts.dead), 0);
    shutdown(peer.fd, SHUT_RDWR);
    pthread_join(drains, NULL);
    close(peer.fd);
    close(fd);
}
