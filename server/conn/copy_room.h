/* SPDX-License-Identifier: Apache-2.0 */
/* Room for the bytes of a copy on their way: copy_room.c says where from. */
#ifndef SERVER_CONN_COPY_ROOM_H
#define SERVER_CONN_COPY_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct overflow_bytes;
struct server_conn;
struct staging_slot;

/* A slot of staging.h, or a turn of copy_overflow.h. */
struct conn_room {
    struct staging_slot *slot; /* leased */
    uint8_t *at;               /* what the driver copies from or to, 16-aligned and padded */
    uint32_t bytes;
    struct overflow_bytes *aside; /* if not NULL: place for bytes for the GPU; call overflow_put
                                   * before the driver's copy */
};

enum conn_use { ROOM_IN, ROOM_OUT, ROOM_STORE }; /* STORE: out, by the network card */

/* Leases room for the next piece of a copy in `stream`; small pieces share slots. ROOM_IN: room for
 * all of `bytes`, at most WIRE_CHUNK. Otherwise room for as many as fit, and for all if they are at
 * most WIRE_CHUNK. Waits while work goes on that will make room. If the stream itself stands still,
 * it leases room of copy_overflow.h. CUDA_ERROR_OUT_OF_MEMORY: there is none, and no work goes on,
 * perhaps until a later call; the log says so. Any error with conn->ended: the connection ends. */
CUresult conn_room(struct server_conn *conn, uint64_t stream, uint64_t bytes, enum conn_use use,
                   struct conn_room *room);
/* Gives the room back unused: no bytes come. */
void conn_room_leave(struct server_conn *conn, struct conn_room *room);
/* Whether streams may wait for what the program has yet to do: other work ends by itself. */
bool conn_awaits_program(struct server_conn *conn);
/* Scratch memory of WIRE_CHUNK bytes, padded, for use within one call. NULL: no memory. */
uint8_t *conn_scratch(struct server_conn *conn);

#endif
