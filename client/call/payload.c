/* How the bytes of a call travel. Between begin and post the link is locked. */
#include "client/call/payload.h"

#include <stdlib.h>
#include <string.h>

static uint64_t bytes_of(const struct client_piece *piece)
{
    return piece->width * piece->rows;
}

static bool is_whole(const struct client_piece *piece)
{
    return piece->pitch == piece->width || piece->rows == 1;
}

static void gather(const struct client_piece *piece, uint8_t *to)
{
    if (is_whole(piece)) {
        memcpy(to, piece->at, bytes_of(piece));
        return;
    }
    for (uint64_t row = 0; row < piece->rows; row++) {
        memcpy(to + row * piece->width, piece->at + row * piece->pitch, piece->width);
    }
}

/* How many bytes it has become; 0: it goes plain. */
static uint32_t pack(struct client_link *link, const struct client_piece *piece, uint8_t *to)
{
    const uint8_t *from = piece->at;
    if (!is_whole(piece)) {
        if (link->gathered == NULL) {
            link->gathered = malloc(WIRE_CHUNK);
        }
        if (link->gathered == NULL) {
            return 0;
        }
        gather(piece, link->gathered);
        from = link->gathered;
    }
    return (uint32_t)pack_piece(&link->pack, from, bytes_of(piece), to);
}

static CUresult begin_apart(struct client_call *call, size_t values, struct client_piece *piece)
{
    struct client_link *link = call->link;
    CUresult rc = client_call_begin_apart(call, values);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    bool packs = pack_wanted(&link->pack), whole = is_whole(piece);
    uint8_t *own = packs || !whole ? client_link_apart_room(link) : NULL;
    if (own == NULL && !whole) {
        client_link_unlock(link, false);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    piece->way = PIECE_APART;
    piece->packed = packs && own != NULL ? pack(link, piece, own) : 0;
    if (piece->packed == 0 && !whole) {
        gather(piece, own);
    }
    piece->from = piece->packed == 0 && whole ? piece->at : own;
    client_call_prefix(call, values, link->bulk_last + 1, piece->packed);
    return CUDA_SUCCESS;
}

static CUresult begin_packed(struct client_call *call, size_t values, struct client_piece *piece)
{
    struct client_link *link = call->link;
    CUresult rc = client_call_begin(call, values + LINK_PREFIX + bytes_of(piece));
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    uint8_t *to = client_link_at(link) + LINK_PREFIX + sizeof(struct wire_header) + values;
    piece->packed = pack_wanted(&link->pack) ? pack(link, piece, to) : 0;
    piece->way = piece->packed != 0 ? PIECE_PACKED : is_whole(piece) ? PIECE_DIRECT : PIECE_COPIED;
    if (piece->packed != 0) {
        client_call_prefix(call, values + piece->packed, 0, piece->packed);
    }
    return CUDA_SUCCESS;
}

CUresult client_piece_begin_large(struct client_call *call, size_t values,
                                  struct client_piece *piece)
{
    uint64_t bytes = bytes_of(piece);
    if (bytes >= LINK_APART && client_link_bulks(call->link) != 0) {
        return begin_apart(call, values, piece);
    }
    if (bytes >= LINK_APART && call->link->pack.mode != PACK_OFF) {
        return begin_packed(call, values, piece);
    }
    bool direct = bytes >= LINK_DIRECT && is_whole(piece);
    piece->way = direct ? PIECE_DIRECT : PIECE_COPIED;
    return client_call_begin(call, values + (direct ? 0 : bytes));
}

CUresult client_piece_post_large(struct client_call *call, const struct client_piece *piece,
                                 struct link_apart *apart)
{
    uint64_t bytes = bytes_of(piece);
    switch (piece->way) {
    case PIECE_APART:
        return client_call_post_apart(call, piece->from, piece->packed != 0 ? piece->packed : bytes,
                                      apart);
    case PIECE_DIRECT:
        return client_call_post_bulk(call, piece->at, bytes);
    case PIECE_PACKED:
        (void)client_call_bulk_room(call, piece->packed);
        break;
    case PIECE_COPIED:
        gather(piece, client_call_bulk_room(call, bytes));
        break;
    }
    return client_call_post(call);
}

void client_piece_wait(struct client_call *call, const struct link_apart *apart)
{
    if (client_link_bulks(call->link) != 0) {
        client_link_apart_wait(call->link, apart);
        call->twins.later = false;
        client_call_sent(call);
    }
}
