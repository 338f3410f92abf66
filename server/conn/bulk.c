/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk connections: granting, attaching, taking bytes. */
#include "server/conn/bulk.h"

#include <stdatomic.h>
#include <string.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "base/failpoint.h"
#include "server/conn/conn.h"
#include "server/conn/copy_room.h"
#include "server/conn/reply.h"

_Static_assert(sizeof(((struct channel_ticket *)NULL)->id) + CHANNEL_KEY_BYTES ==
                   API_BULK_TICKET_BYTES,
               "an id and a key");

#define FAR_NS  (3 * GA_NS_PER_MS) /* round trip where one connection may not fill the wire */
#define FAR_MAX 4u

/* On a long way the window limits a connection; on a short one the processors do, and more
 * connections only cost. Connections that are not TCP (shared memory, RDMA beside TCP) need none.
 */
unsigned bulk_wanted(const struct transport_conn *conn, unsigned configured)
{
    uint64_t round_trip_ns = transport_round_trip_ns(conn);
    if (configured == 1 || strcmp(conn->ops->scheme, "rdma") == 0 || round_trip_ns == 0) {
        return 0;
    }
    return configured != 0 ? configured : round_trip_ns >= FAR_NS ? FAR_MAX : 0;
}

void bulk_init(struct server_bulk *bulk)
{
    *bulk = (struct server_bulk){0};
    pthread_mutex_init(&bulk->lock, NULL);
}

enum ga_status bulk_attach(struct server_bulk *bulk, uint32_t number,
                           const struct transport_conn *conn)
{
    enum ga_status status = GA_DENIED;
    pthread_mutex_lock(&bulk->lock);
    if (number < bulk->granted && !bulk->there[number]) {
        bulk->there[number] = true;
        bulk->conns[number] = *conn;
        status = GA_OK;
    }
    pthread_mutex_unlock(&bulk->lock);
    return status;
}

void bulk_fini(struct server_bulk *bulk)
{
    for (unsigned i = 0; i < WIRE_BULKS_MAX; i++) {
        if (bulk->there[i]) {
            bulk->conns[i].ops->close(&bulk->conns[i]);
        }
    }
    pthread_mutex_destroy(&bulk->lock);
}

uint32_t bulk_agree(struct server_conn *conn, uint32_t client_takes)
{
    conn->bulk.compresses = (client_takes & HANDSHAKE_TAKES_COMPRESSED) != 0 &&
                            conn->host->compresses != NULL &&
                            conn->host->compresses(conn->host->user);
    if (!conn->bulk.compresses) {
        return 0;
    }
    conn->out.compression.mode =
        (client_takes & HANDSHAKE_WANTS_COMPRESSED) != 0 ? COMPRESSION_ALWAYS : COMPRESSION_AUTO;
    return HANDSHAKE_TAKES_COMPRESSED;
}

/* ---- the calls about them */

/* Once: a second time there are none. */
CUresult server_do_ga_bulk_open(struct server_app *app, struct ga_bulk_open_results *results)
{
    struct server_conn *conn = conn_of(app);
    struct server_bulk *bulk = &conn->bulk;
    char tickets[WIRE_BULKS_MAX * API_BULK_TICKET_BYTES];
    results->tickets = tickets;
    pthread_mutex_lock(&bulk->lock);
    if (bulk->granted == 0 && conn->host->bulk_tickets != NULL) {
        struct channel_ticket made[WIRE_BULKS_MAX];
        bulk->granted = conn->host->bulk_tickets(conn->host->user, &conn->transport, made);
        results->connections = bulk->granted;
        results->ticket_bytes = bulk->granted * API_BULK_TICKET_BYTES;
        for (unsigned i = 0; i < bulk->granted; i++) {
            char *at = tickets + i * API_BULK_TICKET_BYTES;
            memcpy(at, made[i].id, sizeof made[i].id);
            memcpy(at + sizeof made[i].id, made[i].key, sizeof made[i].key);
        }
        explicit_bzero(made, sizeof made);
    }
    pthread_mutex_unlock(&bulk->lock);
    SERVER_REPLY_RESULTS(app, app->call.header, ga_bulk_open, CUDA_SUCCESS, results);
    explicit_bzero(tickets, sizeof tickets);
    return SERVER_ANSWERED;
}

CUresult server_do_ga_bulk_use(struct server_app *app, const struct ga_bulk_use_args *args)
{
    struct server_bulk *bulk = &conn_of(app)->bulk;
    bool all = bulk->used == 0 && args->connections != 0 && args->connections <= WIRE_BULKS_MAX;
    pthread_mutex_lock(&bulk->lock);
    for (unsigned i = 0; all && i < args->connections; i++) {
        all = bulk->there[i];
    }
    pthread_mutex_unlock(&bulk->lock);
    if (!all) { /* a piece that would come there ends the connection */
        return CUDA_ERROR_INVALID_VALUE;
    }
    bulk->used = args->connections;
    for (unsigned i = 0; i < bulk->used; i++) {
        send_queue_bulk_use(&conn_of(app)->out, &bulk->conns[i]);
    }
    return CUDA_SUCCESS;
}

/* ---- bytes */

bool bulk_frame(struct server_conn *conn, struct ga_reader *reader)
{
    const struct server_bulk *bulk = &conn->bulk;
    struct bulk_prefix next = {.said = true, .connection = ga_read_u32(reader)};
    next.compressed = ga_read_u32(reader);
    bool good = next.connection <= bulk->used && next.compressed < WIRE_CHUNK &&
                (next.compressed == 0 || bulk->compresses) &&
                (next.connection != 0 || next.compressed != 0);
    if (reader->failed || bulk->next.said || !good) {
        return false;
    }
    conn->bulk.next = next;
    return true;
}

bool bulk_fits(const struct server_conn *conn, uint64_t bytes)
{
    const struct bulk_prefix *next = &conn->bulk.next;
    uint64_t here = next->connection != 0 ? 0 : next->compressed != 0 ? next->compressed : bytes;
    return bytes <= WIRE_CHUNK && next->compressed <= bytes &&
           conn->app->call.header->length == conn->app->call.values + wire_padded(here);
}

static enum ga_status out_of_band_take(struct server_conn *conn, struct transport_conn *from,
                                       void *to, uint64_t bytes)
{
    uint8_t *at = to;
    while (bytes != 0) {
        size_t got;
        enum ga_status status = from->ops->receive(from, at, bytes, &got);
        if (status == GA_OK) {
            (void)GA_FAILPOINT("backend: piece of bulk read");
            ledger_moved(conn->app->ledger, FIGURE_BULK_IN, got);
            rate_look_soon(&conn->app->rates);
            at += got;
            bytes -= got;
        } else if (status == GA_AGAIN && !atomic_load(&conn->ended)) {
            conn_flush(conn);
            conn_poll(conn, from, POLLIN);
        } else {
            atomic_store(&conn->ended, true); /* the client is gone, it has said nothing wrong */
            return GA_LOST;
        }
    }
    return GA_OK;
}

/* As they come, be they compressed or not. */
static enum ga_status plain_take(struct server_conn *conn, void *to, uint64_t bytes)
{
    uint32_t connection = conn->bulk.next.connection;
    return connection != 0 ? out_of_band_take(conn, &conn->bulk.conns[connection - 1], to, bytes)
                           : conn_bulk(conn, to, wire_padded(bytes));
}

/* How many there will be is known, and has been checked, before they are opened. */
static enum ga_status compressed_take(struct server_conn *conn, void *to, uint64_t bytes)
{
    uint32_t compressed = conn->bulk.next.compressed;
    uint8_t *from = conn_scratch(conn);
    if (from == NULL) {
        server_fail(conn->app, "no memory for a copy");
        return GA_LOST;
    }
    GA_TRY(plain_take(conn, from, compressed));
    return decompress(from, compressed, to, bytes);
}

enum ga_status bulk_drop(struct server_conn *conn, uint64_t bytes)
{
    uint32_t compressed = conn->bulk.next.compressed;
    uint8_t *to = conn_scratch(conn);
    if (to == NULL) {
        server_fail(conn->app, "no memory for a copy");
        return GA_LOST;
    }
    return plain_take(conn, to, compressed != 0 ? compressed : bytes);
}

enum ga_status bulk_take(struct server_conn *conn, void *to, uint64_t bytes)
{
    return conn->bulk.next.compressed != 0 ? compressed_take(conn, to, bytes)
                                           : plain_take(conn, to, bytes);
}
