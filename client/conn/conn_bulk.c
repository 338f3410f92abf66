/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk connections of a connection: they carry bytes of large copies beside the data connection,
 * where one connection cannot fill the wire (WIRE_BULK). The data connection says to which frame
 * the bytes belong, so its order is the order of all calls.
 *
 * Pieces are given in turns to connections that have sent their last one. A piece stays in the
 * caller's memory, or in room of the bulk connection, until it has left. The caller must therefore
 * wait in the end (client_conn_out_of_band_wait), and until then only for room on the connection,
 * because the server reads on only when it has the piece. A thread that waits for room sends the
 * rest of all pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "client/conn/conn_internal.h"

struct transport_conn *conn_awaited(struct client_conn *conn)
{
    unsigned connection = atomic_load(&conn->awaited);
    return connection != 0 ? &conn->bulks[connection - 1].transport : &conn->data;
}

unsigned client_conn_bulks(const struct client_conn *conn)
{
    return atomic_load_explicit(&conn->bulk_count, memory_order_acquire);
}

bool client_conn_bulks_wanted(struct client_conn *conn)
{
    return !atomic_load(&conn->bulk_asked) && !atomic_exchange(&conn->bulk_asked, true);
}

void client_conn_bulks_use(struct client_conn *conn, const struct transport_conn *bulks,
                           unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        conn->bulks[i].transport = bulks[i];
    }
    atomic_store(&conn->bulk_count, count);
}

unsigned client_conn_out_of_band_number(const struct client_conn *conn)
{
    return conn->bulk_last + 1;
}

/* Under send_lock. */
static enum ga_status bulk_send(struct client_conn *conn, struct conn_bulk *bulk)
{
    while (bulk->left != 0) {
        const struct iovec piece = {.iov_base = (uint8_t *)(uintptr_t)bulk->from,
                                    .iov_len = bulk->left};
        size_t sent;
        (void)GA_FAILPOINT("client: before sending bulk");
        GA_TRY(bulk->transport.ops->send(&bulk->transport, &piece, 1, &sent));
        client_conn_count(&conn->bytes_out, sent);
        compression_took(&conn->compression, sent);
        bulk->from += sent;
        bulk->left -= sent;
    }
    return GA_OK;
}

/* Sends pieces, unless the connection is lost: then the calls that own their memory have returned.
 */
enum ga_status conn_bulk_push(struct client_conn *conn)
{
    enum ga_status all = GA_OK;
    for (unsigned i = 0; i < client_conn_bulks(conn) && atomic_load(&conn->facts.dead) == 0; i++) {
        enum ga_status status = bulk_send(conn, &conn->bulks[i]);
        if (status != GA_OK && status != GA_AGAIN) {
            client_conn_lose(conn, "a bulk connection ended while sending");
        }
        all = status != GA_OK ? status : all;
    }
    if (all == GA_OK) {
        compression_emptied(&conn->compression);
    }
    return atomic_load(&conn->facts.dead) == 0 ? all : GA_LOST;
}

/* Chooses the next bulk connection that has nothing to send. Under send_lock. */
static bool conn_bulk_choose(struct client_conn *conn)
{
    unsigned count = client_conn_bulks(conn);
    for (unsigned i = 1; i <= count; i++) {
        unsigned at = (conn->bulk_last + i) % count;
        if (conn->bulks[at].left == 0) {
            conn->bulk_last = at;
            return true;
        }
    }
    return false;
}

int client_conn_lock_out_of_band(struct client_conn *conn, size_t room)
{
    int dead;
    while ((dead = client_conn_lock(conn, room + CONN_PREFIX)) == 0) {
        enum ga_status status = conn_bulk_push(conn);
        if (conn_bulk_choose(conn)) {
            return 0;
        }
        conn_note_full(conn);
        if (status == GA_AGAIN && conn_push(conn) != GA_LOST) {
            conn_wait_for_room(conn);
        }
        pthread_mutex_unlock(&conn->send_lock);
    }
    return dead;
}

void client_conn_prefix(struct client_conn *conn, uint32_t connection, uint32_t compressed)
{
    const uint32_t values[2] = {connection, compressed};
    memcpy(client_conn_at(conn) + sizeof(struct wire_header), values, sizeof values);
    (void)client_conn_frame(conn, WIRE_BULK, 0, sizeof values, 0, false);
}

uint8_t *client_conn_out_of_band_room(struct client_conn *conn)
{
    struct conn_bulk *bulk = &conn->bulks[conn->bulk_last];
    if (bulk->room == NULL) {
        bulk->room = malloc(WIRE_CHUNK);
    }
    return bulk->room;
}

void client_conn_send_out_of_band(struct client_conn *conn, const void *from, uint64_t bytes,
                                  struct conn_out_of_band *out_of_band)
{
    struct conn_bulk *bulk = &conn->bulks[conn->bulk_last];
    bulk->from = from;
    bulk->left = bytes;
    out_of_band->pieces[conn->bulk_last] = ++bulk->pieces;
    if (conn_push(conn) != GA_LOST) {
        (void)conn_bulk_push(conn);
    }
}

/* Under send_lock. */
static bool has_left(const struct client_conn *conn, const struct conn_out_of_band *out_of_band)
{
    for (unsigned i = 0; i < client_conn_bulks(conn); i++) {
        const struct conn_bulk *bulk = &conn->bulks[i];
        if (bulk->left != 0 && bulk->pieces == out_of_band->pieces[i]) {
            return false;
        }
    }
    return true;
}

void client_conn_out_of_band_wait(struct client_conn *conn,
                                  const struct conn_out_of_band *out_of_band)
{
    pthread_mutex_lock(&conn->send_lock);
    while (atomic_load(&conn->facts.dead) == 0 && !has_left(conn, out_of_band)) {
        enum ga_status status = conn->exclusive ? GA_OK : conn_push(conn);
        if (status != GA_LOST && conn_bulk_push(conn) == GA_AGAIN && !has_left(conn, out_of_band)) {
            conn_wait_for_room(conn);
        }
    }
    pthread_mutex_unlock(&conn->send_lock);
}
