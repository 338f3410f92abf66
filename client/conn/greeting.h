/* SPDX-License-Identifier: Apache-2.0 */
/* One greeting: a frame there, a frame back, in bounded time, on a connection that no other thread
 * uses meanwhile. */
#ifndef CLIENT_CONN_GREETING_H
#define CLIENT_CONN_GREETING_H

#include "base/cursor.h"
#include "base/status.h"
#include "transport/transport.h"

/* The reason when the other end does not speak our protocol. */
#define CLIENT_GREETING_FOREIGN "it speaks something else; is this the port of gpuaasd?"

struct client_frame {
    uint8_t *bytes; /* header and values; room for WIRE_HANDSHAKE_MAX */
    struct ga_writer writer;
};

/* GA_NO_MEMORY. The writer is at the first value. */
GA_CHECKED enum ga_status client_frame_begin(struct client_frame *frame);
/* Finishes the header and sends all of it. `why` says what went wrong; that may use up what the
 * other end has said at last. NULL: the caller reads that. */
GA_CHECKED enum ga_status client_frame_send(struct client_frame *frame, uint16_t opcode,
                                            uint16_t session, uint64_t sequence,
                                            struct transport_conn *transport, uint64_t deadline_ns,
                                            char *why, size_t why_size);
void client_frame_end(struct client_frame *frame);

/* Waits for the next frame; `values` is lent until the next use of the reader (frame_drop is the
 * caller's). */
GA_CHECKED enum ga_status client_frame_receive(struct frame_reader *reader,
                                               struct transport_conn *transport,
                                               uint64_t deadline_ns, struct wire_header *header,
                                               struct ga_reader *values, char *why,
                                               size_t why_size);

/* Why a connection came to its end, for people: `status` is GA_LOST or GA_INVALID. */
const char *client_greeting_cause(const struct transport_conn *transport, enum ga_status status);

#endif
