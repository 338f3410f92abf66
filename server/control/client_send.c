/* Outgoing bytes of a control connection. Replies are few and small; one growing buffer will do. */
#include "server/control/client_send.h"

#include <stdlib.h>
#include <string.h>

#define PEER_OUT_MOST (4u << 20) /* a client that reads nothing is given up here */

void peer_out_fini(struct peer_out *out)
{
    free(out->bytes);
    *out = (struct peer_out){0};
}

struct ga_writer *peer_out_begin(struct peer_out *out)
{
    size_t needed = out->size + sizeof(struct wire_header) + WIRE_HANDSHAKE_MOST;
    if (needed > out->capacity && !out->failed) {
        size_t capacity = (needed + 65535) & ~(size_t)65535;
        uint8_t *bytes = capacity <= PEER_OUT_MOST ? aligned_alloc(16, capacity) : NULL;
        if (bytes == NULL) {
            out->failed = true;
        } else {
            if (out->size != 0) {
                memcpy(bytes, out->bytes, out->size);
            }
            free(out->bytes);
            out->bytes = bytes;
            out->capacity = capacity;
        }
    }
    out->writer = out->failed ? ga_writer_of(NULL, 0)
                              : ga_writer_of(out->bytes + out->size + sizeof(struct wire_header),
                                             WIRE_HANDSHAKE_MOST);
    return &out->writer;
}

void peer_out_end(struct peer_out *out, uint16_t opcode, uint64_t sequence)
{
    if (out->writer.failed || out->failed) {
        out->failed = true;
        return;
    }
    const struct wire_header header = {
        .length = (uint32_t)out->writer.at, .opcode = opcode, .sequence = sequence};
    memcpy(out->bytes + out->size, &header, sizeof header);
    out->size += sizeof header + out->writer.at;
}

enum ga_status peer_out_send(struct peer_out *out, struct transport_conn *conn)
{
    if (out->failed) {
        return GA_LOST;
    }
    while (out->sent < out->size) {
        struct iovec piece = {out->bytes + out->sent, out->size - out->sent};
        size_t sent;
        GA_TRY(conn->ops->send(conn, &piece, 1, &sent));
        out->sent += sent;
    }
    peer_out_fini(out); /* the next message may be minutes away */
    return GA_OK;
}
