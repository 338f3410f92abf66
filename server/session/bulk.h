/* Bulk connections of a data connection: more ways for the bytes of large copies, where one cannot
 * fill the wire. The order of calls is that of the data connection alone: a frame there says over
 * which connection its bytes come (WIRE_BULK), and the submit thread takes them from there, and
 * goes no further before it has them. When one of them is lost, the data connection ends as if it
 * were lost itself. */
#ifndef SERVER_SESSION_BULK_H
#define SERVER_SESSION_BULK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/wire.h"
#include "base/cursor.h"
#include "base/status.h"
#include "transport/transport.h"

struct server_conn;

struct server_bulk {
    pthread_mutex_t lock;       /* of what the main thread puts in */
    bool there[WIRE_BULKS_MAX]; /* connected */
    unsigned granted;           /* connections that the client may open */
    bool packs;                 /* both ends take packed bytes */
    unsigned used;              /* the submit thread's */
    struct transport_conn conns[WIRE_BULKS_MAX];
    /* What WIRE_BULK has said of the next frame; all 0: nothing. */
    struct bulk_apart {
        bool said;
        uint32_t connection, packed;
    } next;
};

/* How many bulk connections go well beside this one; `configured`: as [server] bulk_connections. */
unsigned bulk_wanted(const struct transport_conn *conn, unsigned configured);

void bulk_init(struct server_bulk *bulk);
/* The bulk connection with this number has shown its ticket: takes it over if it answers GA_OK.
 * In the main thread. */
GA_CHECKED enum ga_status bulk_attach(struct server_bulk *bulk, uint32_t number,
                                      const struct transport_conn *conn);

/* What this end takes of a client that takes so much: HANDSHAKE_TAKES_*. Before anything is sent.
 */
uint32_t bulk_agree(struct server_conn *conn, uint32_t client_takes);

/* ---- the submit thread */

/* A WIRE_BULK frame. False: it breaks the protocol. */
bool bulk_frame(struct server_conn *conn, struct ga_reader *reader);
/* Whether the current frame, with so many bytes of values, has `bytes` bulk bytes. */
bool bulk_fits(const struct server_conn *conn, const struct wire_header *header, size_t values,
               uint64_t bytes);
/* Takes them; `to` has room for them, padded. GA_LOST: the connection has ended. GA_INVALID: they
 * are packed wrongly. */
GA_CHECKED enum ga_status bulk_take(struct server_conn *conn, size_t values, void *to,
                                    uint64_t bytes);
/* The same, and nobody has them. */
GA_CHECKED enum ga_status bulk_drop(struct server_conn *conn, size_t values, uint64_t bytes);

#endif
