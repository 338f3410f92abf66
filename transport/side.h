/* SPDX-License-Identifier: Apache-2.0 */
/* The side connection of a client and its backend process. It carries small messages that must
 * never queue behind bulk bytes, and the pings that decide whether the other end lives: a data
 * connection that does not drain may be alive, a silent side connection is dead.
 *
 * Both ends use this. Any thread may send; all other functions belong to the thread that watches
 * the descriptor. Pings are answered here. */
#ifndef TRANSPORT_SIDE_H
#define TRANSPORT_SIDE_H

#include <pthread.h>

#include "base/liveness.h"
#include "transport/frame.h"
#include "transport/transport.h"

#define SIDE_READ_BYTES 4096u  /* messages are far shorter */
#define SIDE_OUT_BYTES  16384u /* the most bytes that wait for the socket */

struct transport_side {
    struct transport_conn conn;
    struct frame_reader reader;
    bool shown; /* the reader's first frame is lent to the caller */
    struct ga_liveness liveness;
    pthread_mutex_t lock; /* of `out` */
    size_t out_bytes;
    uint8_t out[SIDE_OUT_BYTES];
};

/* Owns the connection and the reader, including bytes that it has received. */
void transport_side_init(struct transport_side *side, const struct transport_conn *conn,
                         const struct frame_reader *reader, unsigned dead_after_ms);
void transport_side_fini(struct transport_side *side);

/* Sends a frame, now or as soon as the socket takes it. Any thread; never waits. GA_AGAIN: too
 * much waits already, and nothing of the frame has been sent. `size`: a multiple of 16. */
GA_CHECKED enum ga_status transport_side_send(struct transport_side *side, uint16_t opcode,
                                              uint64_t sequence, const void *values, size_t size);

/* To be called when the socket is readable or writable. Sends what waits, and gives the next
 * frame that is not a ping, lent until the next call. GA_AGAIN: none. GA_LOST: the end.
 * GA_INVALID: invalid bytes. */
GA_CHECKED enum ga_status transport_side_receive(struct transport_side *side,
                                                 struct wire_header *header,
                                                 const uint8_t **values);

/* Sends what waits, and pings. To be called at least once an interval. GA_TIMEOUT: the peer
 * gives no sign of life. GA_LOST. */
GA_CHECKED enum ga_status transport_side_heartbeat(struct transport_side *side, uint64_t now_ns);
uint64_t transport_side_interval_ns(const struct transport_side *side);

/* As poll_prepare of struct transport_ops. */
unsigned transport_side_poll_prepare(struct transport_side *side, struct pollfd *fds);

#endif
