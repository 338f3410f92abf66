/* SPDX-License-Identifier: Apache-2.0 */
/* How payloads travel. Between begin and post the connection is locked. */
#include "client/call/payload.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(const struct client_payload *piece)
{
    return piece->width * piece->rows;
}

static bool is_whole(const struct client_payload *piece)
{
    return piece->pitch == piece->width || piece->rows == 1;
}

static void gather(const struct client_payload *piece, uint8_t *to)
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
static uint32_t pack(struct client_conn *conn, const struct client_payload *piece, uint8_t *to)
{
    const uint8_t *from = piece->at;
    if (!is_whole(piece)) {
        if (conn->gathered == NULL) {
            conn->gathered = malloc(WIRE_CHUNK);
        }
        if (conn->gathered == NULL) {
            return 0;
        }
        gather(piece, conn->gathered);
        from = conn->gathered;
    }
    return (uint32_t)compress_piece(&conn->compression, from, bytes_of(piece), to);
}

static CUresult begin_apart(struct client_call *call, size_t values, struct client_payload *piece)
{
    struct client_conn *conn = call->conn;
    CUresult rc = client_call_begin_apart(call, values);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    bool packs = compression_wanted(&conn->compression), whole = is_whole(piece);
    uint8_t *own = packs || !whole ? client_conn_apart_room(conn) : NULL;
    if (own == NULL && !whole) {
        client_conn_unlock(conn, false);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    piece->way = PAYLOAD_APART;
    piece->packed = packs && own != NULL ? pack(conn, piece, own) : 0;
    if (piece->packed == 0 && !whole) {
        gather(piece, own);
    }
    piece->from = piece->packed == 0 && whole ? piece->at : own;
    client_call_prefix(call, values, conn->bulk_last + 1, piece->packed);
    return CUDA_SUCCESS;
}

static CUresult begin_packed(struct client_call *call, size_t values, struct client_payload *piece)
{
    struct client_conn *conn = call->conn;
    CUresult rc = client_call_begin(call, values + CONN_PREFIX + bytes_of(piece));
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    uint8_t *to = client_conn_at(conn) + CONN_PREFIX + sizeof(struct wire_header) + values;
    piece->packed = compression_wanted(&conn->compression) ? pack(conn, piece, to) : 0;
    piece->way = piece->packed != 0 ? PAYLOAD_PACKED
                 : is_whole(piece)  ? PAYLOAD_DIRECT
                                    : PAYLOAD_COPIED;
    if (piece->packed != 0) {
        client_call_prefix(call, values + piece->packed, 0, piece->packed);
    }
    return CUDA_SUCCESS;
}

CUresult client_payload_begin_large(struct client_call *call, size_t values,
                                    struct client_payload *piece)
{
    uint64_t bytes = bytes_of(piece);
    if (bytes >= CONN_APART && client_conn_bulks(call->conn) != 0) {
        return begin_apart(call, values, piece);
    }
    if (bytes >= CONN_APART && call->conn->compression.mode != COMPRESSION_OFF) {
        return begin_packed(call, values, piece);
    }
    bool direct = bytes >= CONN_DIRECT && is_whole(piece);
    piece->way = direct ? PAYLOAD_DIRECT : PAYLOAD_COPIED;
    return client_call_begin(call, values + (direct ? 0 : bytes));
}

CUresult client_payload_post_large(struct client_call *call, const struct client_payload *piece,
                                   struct conn_apart *apart)
{
    uint64_t bytes = bytes_of(piece);
    switch (piece->way) {
    case PAYLOAD_APART:
        return client_call_post_apart(call, piece->from, piece->packed != 0 ? piece->packed : bytes,
                                      apart);
    case PAYLOAD_DIRECT:
        return client_call_post_bulk(call, piece->at, bytes);
    case PAYLOAD_PACKED:
        (void)client_call_bulk_room(call, piece->packed);
        break;
    case PAYLOAD_COPIED:
        gather(piece, client_call_bulk_room(call, bytes));
        break;
    }
    return client_call_post(call);
}

void client_payload_wait(struct client_call *call, const struct conn_apart *apart)
{
    if (client_conn_bulks(call->conn) != 0) {
        client_conn_apart_wait(call->conn, apart);
        call->mirrors.later = false;
        client_call_sent(call);
    }
}
