/* SPDX-License-Identifier: Apache-2.0 */
/* Bulk connections of a data connection: they carry bytes of large copies, where one connection
 * cannot fill the wire. The data connection alone gives the order of calls: a frame there says over
 * which connection its bytes come (WIRE_BULK), and the submit thread takes all of them before it
 * goes on. When a bulk connection is lost, the data connection ends as if it were lost itself. */
#ifndef SERVER_CONN_BULK_H
#define SERVER_CONN_BULK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/wire.h"
#include "base/cursor.h"
#include "base/status.h"
#include "transport/transport.h"

struct server_conn;

struct server_bulk {
    pthread_mutex_t lock;       /* guards `there` and `conns`, which the main thread fills in */
    bool there[WIRE_BULKS_MAX]; /* connected */
    unsigned granted;           /* connections that the client may open */
    bool compresses;            /* both ends take compressed bytes */
    unsigned used;              /* in use, as the submit thread knows */
    struct transport_conn conns[WIRE_BULKS_MAX];
    /* From WIRE_BULK, about the next frame; all 0: there was none. */
    struct bulk_prefix {
        bool said;
        uint32_t connection, compressed;
    } next;
};

/* How many bulk connections are useful beside this one; `configured`: [server] bulk_connections. */
unsigned bulk_wanted(const struct transport_conn *conn, unsigned configured);

void bulk_init(struct server_bulk *bulk);
/* Adds the bulk connection with this number, which has shown its ticket; takes ownership if it
 * returns GA_OK. Main thread. */
GA_CHECKED enum ga_status bulk_attach(struct server_bulk *bulk, uint32_t number,
                                      const struct transport_conn *conn);

/* Closes them. Main thread, which may still be telling one that it is welcome; no other uses them
 * any more. */
void bulk_fini(struct server_bulk *bulk);

/* Agrees on compression: HANDSHAKE_TAKES_* of this end, for a client that takes `client_takes`.
 * Call before anything is sent. */
uint32_t bulk_agree(struct server_conn *conn, uint32_t client_takes);

/* ---- the submit thread */

/* Takes a WIRE_BULK frame. False: it breaks the protocol. */
bool bulk_frame(struct server_conn *conn, struct ga_reader *reader);
/* Whether the frame of the current call has `bytes` bulk bytes. */
bool bulk_fits(const struct server_conn *conn, uint64_t bytes);
/* Reads the bulk bytes into `to`, which has room for them, padded. GA_LOST: the connection has
 * ended. GA_INVALID: decompression fails. */
GA_CHECKED enum ga_status bulk_take(struct server_conn *conn, void *to, uint64_t bytes);
/* Reads the bulk bytes and drops them. */
GA_CHECKED enum ga_status bulk_drop(struct server_conn *conn, uint64_t bytes);

#endif
