/* SPDX-License-Identifier: Apache-2.0 */
/* The side connection of a client and its backend process: small messages that must never queue
 * behind bulk bytes, and the pings that decide whether the other end still lives. A data connection
 * that does not drain is not dead; a side connection that says nothing is.
 *
 * Both ends use this. Sending may be done by any thread; the rest belongs to the one thread that
 * watches the descriptor. It answers pings by itself. */
#ifndef TRANSPORT_SIDE_H
#define TRANSPORT_SIDE_H

#include <pthread.h>

#include "base/liveness.h"
#include "transport/frame.h"
#include "transport/transport.h"

#define SIDE_READ_BYTES 4096u  /* a message is far shorter */
#define SIDE_OUT_BYTES  16384u /* what the socket has not taken yet, at most */

struct transport_side {
    struct transport_conn conn;
    struct frame_reader reader;
    bool shown; /* the reader's first frame has been lent */
    struct ga_liveness liveness;
    pthread_mutex_t lock; /* of `out` */
    size_t out_bytes;
    uint8_t out[SIDE_OUT_BYTES];
};

/* Takes over the connection and the reader (with what it has received already). */
void transport_side_init(struct transport_side *side, const struct transport_conn *conn,
                         const struct frame_reader *reader, unsigned dead_after_ms);
void transport_side_fini(struct transport_side *side);

/* Sends a frame, now or as soon as the socket takes it. Any thread; never waits. GA_AGAIN: too much
 * is waiting already, nothing of it has been sent. `size`: multiple of 16. */
GA_CHECKED enum ga_status transport_side_send(struct transport_side *side, uint16_t opcode,
                                              uint64_t sequence, const void *values, size_t size);

/* To be called when poll says that the socket is readable or writable. Sends what waits; gives the
 * next frame that is no ping, lent until the next call. GA_AGAIN: none. GA_LOST: the end.
 * GA_INVALID: nonsense. */
GA_CHECKED enum ga_status transport_side_receive(struct transport_side *side,
                                                 struct wire_header *header,
                                                 const uint8_t **values);

/* Sends what waits, pings. To be called once an interval at least. GA_TIMEOUT: it gives no sign of
 * life. GA_LOST. */
GA_CHECKED enum ga_status transport_side_heartbeat(struct transport_side *side, uint64_t now_ns);
uint64_t transport_side_interval_ns(const struct transport_side *side);

/* What to poll for: as transport_ops.poll_prepare. */
unsigned transport_side_poll_prepare(struct transport_side *side, struct pollfd *fds);

#endif
