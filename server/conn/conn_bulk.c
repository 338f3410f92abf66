/* SPDX-License-Identifier: Apache-2.0 */
/* The bulk bytes of the call that is being carried out. */
#include <poll.h>

#include "base/failpoint.h"
#include "server/conn/conn.h"

enum ga_status conn_bulk(struct server_conn *conn, void *to, size_t size)
{
    uint8_t *at = to;
    while (size != 0) {
        size_t got;
        enum ga_status status =
            frame_bulk(&conn->reader, &conn->transport, conn->app->call.values, at, size, &got);
        if (status == GA_OK && got == 0) {
            return GA_INVALID; /* the frame is shorter than the caller thinks */
        }
        if (status == GA_OK) {
            (void)GA_FAILPOINT("backend: piece of bulk read");
            at += got;
            size -= got;
        } else if (status == GA_AGAIN && !atomic_load(&conn->ended)) {
            conn_flush(conn);
            conn_poll(conn, &conn->transport, POLLIN);
        } else {
            return GA_LOST;
        }
    }
    return GA_OK;
}

bool conn_bulk_skip(struct server_conn *conn)
{
    uint8_t piece[4096];
    size_t left;
    while ((left = frame_bulk_left(&conn->reader, conn->app->call.values)) != 0) {
        if (conn_bulk(conn, piece, left < sizeof piece ? left : sizeof piece) != GA_OK) {
            return false;
        }
    }
    return true;
}
