/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of one call: bytes of the program's memory that go with it, between its begin and its
 * post, by one of the routes "with the call" (copy_route.h). */
#ifndef CLIENT_CALL_PAYLOAD_H
#define CLIENT_CALL_PAYLOAD_H

#include "client/call/call.h"
#include "client/call/copy_route.h"

struct client_payload {
    const uint8_t *at; /* row r is at `at + r * pitch`; WIRE_CHUNK bytes altogether at most */
    uint64_t width, pitch, rows;
    /* Set by begin, for the post */
    enum client_copy_route route; /* BULK: it may leave after the post has returned */
    const uint8_t *from;          /* BULK */
    uint32_t compressed;          /* compressed size; 0: it goes plain */
};

/* begin and post of every payload that is not small and in one row. */
CUresult client_payload_begin_large(struct client_call *call, struct client_payload *piece);
CUresult client_payload_post_large(struct client_call *call, const struct client_payload *piece,
                                   struct conn_out_of_band *out_of_band);

/* Its route is CLIENT_ROUTE_FRAME, whatever the connection can do. */
static inline bool client_payload_small(const struct client_payload *piece)
{
    return piece->rows == 1 && piece->width < CLIENT_ROUTE_DIRECT_MIN;
}

/* As client_call_begin, for a call with bulk. */
static inline CUresult client_payload_begin(struct client_call *call, struct client_payload *piece)
{
    return client_payload_small(piece)
               ? client_call_begin(call, api_facts(call->op).bulk_values + piece->width)
               : client_payload_begin_large(call, piece);
}

/* Posts the call; its values have been written. In the end the caller must wait once
 * (client_payload_wait) for all payloads that were given the same `apart`, which is all zeros at
 * first: until then they may not have left, and the memory must not change. */
static inline CUresult client_payload_post(struct client_call *call,
                                           const struct client_payload *piece,
                                           struct conn_out_of_band *out_of_band)
{
    if (!client_payload_small(piece)) {
        return client_payload_post_large(call, piece, out_of_band);
    }
    ga_write_array(&call->writer, piece->at, piece->width, 1, 16);
    return client_call_post(call);
}
void client_payload_wait(struct client_call *call, const struct conn_out_of_band *out_of_band);

#endif
