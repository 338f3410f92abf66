/* SPDX-License-Identifier: Apache-2.0 */
/* Bounce buffers: slots of a shared buffer, through which pageable memory is copied. */
#ifndef CLIENT_TRANSFER_BOUNCE_BUFFERS_H
#define CLIENT_TRANSFER_BOUNCE_BUFFERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/transfer/shared_buffer.h"

struct client_conn;
struct client_context;

#define CLIENT_SLOT_BYTES (UINT64_C(128) << 10)
/* Bytes have the same offset in a cache line in a slot as in the program's memory. */
#define CLIENT_SLOT_LINE 64u
#define CLIENT_SLOTS     8u /* of each direction */

struct client_slot {
    uint8_t *memory; /* CLIENT_SLOT_BYTES, and a cache line */
    struct client_buffer_place place;
    atomic_uint busy; /* 0: free; cleared by the thread that took it, or by reply_action.lease */
};

/* Takes a slot of the context's connection, for a copy to the device (`in`) or from it. NULL: the
 * connection has no slots, or none is free; for a copy to the device it waits a moment for one. */
struct client_slot *client_slot_take(const struct client_context *context, bool in);

/* The offset in a slot for bytes that lie at `host` in the program's memory. */
static inline uint64_t client_slot_skew(const void *host)
{
    return (uintptr_t)host % CLIENT_SLOT_LINE;
}

/* Call now and then: gives back memory of slots that have been idle for a while. */
void client_slots_rest(const struct client_conn *conn, uint64_t now_ns);

#endif
