/* SPDX-License-Identifier: Apache-2.0 */
/* How payloads travel. Between begin and post the connection is locked. */
#include "client/call/payload.h"

#include <string.h>

static uint64_t bytes_of(const struct client_payload *piece)
{
    return piece->width * piece->rows;
}

static bool is_whole(const struct client_payload *piece)
{
    return piece->pitch == piece->width || piece->rows == 1;
}

static void payload_gather(const struct client_payload *piece, uint8_t *to)
{
    if (is_whole(piece)) {
        memcpy(to, piece->at, bytes_of(piece));
        return;
    }
    for (uint64_t row = 0; row < piece->rows; row++) {
        memcpy(to + row * piece->width, piece->at + row * piece->pitch, piece->width);
    }
}

/* Compresses the payload; returns its compressed size. 0: it goes plain. */
static uint32_t payload_compress(struct client_conn *conn, const struct client_payload *piece,
                                 uint8_t *to)
{
    const uint8_t *from = piece->at;
    if (!is_whole(piece)) {
        uint8_t *rows = client_conn_gather_room(conn);
        if (rows == NULL) {
            return 0;
        }
        payload_gather(piece, rows);
        from = rows;
    }
    return (uint32_t)compress_piece(client_conn_compression(conn), from, bytes_of(piece), to);
}

static CUresult begin_out_of_band(struct client_call *call, size_t values,
                                  struct client_payload *piece)
{
    struct client_conn *conn = call->conn;
    CU_TRY(client_call_begin_out_of_band(call, values));
    bool compresses = compression_wanted(client_conn_compression(conn)), whole = is_whole(piece);
    uint8_t *own = compresses || !whole ? client_conn_out_of_band_room(conn) : NULL;
    if (own == NULL && !whole) {
        client_conn_unlock(conn, false);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    piece->compressed = compresses && own != NULL ? payload_compress(conn, piece, own) : 0;
    if (piece->compressed == 0 && !whole) {
        payload_gather(piece, own);
    }
    piece->from = piece->compressed == 0 && whole ? piece->at : own;
    client_call_prefix(call, values, client_conn_out_of_band_number(conn), piece->compressed);
    return CUDA_SUCCESS;
}

static struct client_copy_facts facts_of(const struct client_call *call,
                                         const struct client_payload *piece)
{
    return (struct client_copy_facts){.to_device = true,
                                      .bytes = bytes_of(piece),
                                      .gaps = !is_whole(piece),
                                      .can = client_copy_abilities(call->conn) &
                                             (CLIENT_CAN_BULK | CLIENT_CAN_COMPRESS)};
}

/* Bytes that do not get smaller take the next route. */
static CUresult begin_compressed(struct client_call *call, size_t values,
                                 struct client_payload *piece)
{
    struct client_conn *conn = call->conn;
    CU_TRY(client_call_begin(call, values + CONN_PREFIX + bytes_of(piece)));
    uint8_t *to = client_conn_at(conn) + CONN_PREFIX + sizeof(struct wire_header) + values;
    piece->compressed =
        compression_wanted(client_conn_compression(conn)) ? payload_compress(conn, piece, to) : 0;
    if (piece->compressed != 0) {
        client_call_prefix(call, values + piece->compressed, 0, piece->compressed);
    } else {
        struct client_copy_facts facts = facts_of(call, piece);
        facts.tried = 1u << CLIENT_ROUTE_BULK | 1u << CLIENT_ROUTE_COMPRESSED;
        piece->route = client_copy_route(&facts);
    }
    return CUDA_SUCCESS;
}

CUresult client_payload_begin_large(struct client_call *call, struct client_payload *piece)
{
    const size_t values = api_facts(call->op).bulk_values;
    const struct client_copy_facts facts = facts_of(call, piece);
    piece->route = client_copy_route(&facts);
    switch (piece->route) {
    case CLIENT_ROUTE_BULK:
        return begin_out_of_band(call, values, piece);
    case CLIENT_ROUTE_COMPRESSED:
        return begin_compressed(call, values, piece);
    case CLIENT_ROUTE_DIRECT:
        return client_call_begin(call, values);
    default: /* CLIENT_ROUTE_FRAME */
        return client_call_begin(call, values + facts.bytes);
    }
}

CUresult client_payload_post_large(struct client_call *call, const struct client_payload *piece,
                                   struct conn_out_of_band *out_of_band)
{
    uint64_t bytes = bytes_of(piece);
    switch (piece->route) {
    case CLIENT_ROUTE_BULK:
        return client_call_post_out_of_band(
            call, piece->from, piece->compressed != 0 ? piece->compressed : bytes, out_of_band);
    case CLIENT_ROUTE_DIRECT:
        return client_call_post_bulk(call, piece->at, bytes);
    case CLIENT_ROUTE_COMPRESSED:
        (void)client_call_bulk_room(call, piece->compressed);
        break;
    default:
        payload_gather(piece, client_call_bulk_room(call, bytes));
        break;
    }
    return client_call_post(call);
}

void client_payload_wait(struct client_call *call, const struct conn_out_of_band *out_of_band)
{
    if (client_conn_bulks(call->conn) != 0) {
        client_conn_out_of_band_wait(call->conn, out_of_band);
        call->mirrors.later = false;
        client_call_sent(call);
    }
}
