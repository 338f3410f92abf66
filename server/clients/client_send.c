/* SPDX-License-Identifier: Apache-2.0 */
/* Outgoing bytes of a control connection. Replies are few and small; one growing buffer will do. */
#include "server/clients/client_send.h"

#include <stdlib.h>
#include <string.h>

#define CLIENT_OUT_MAX (4u << 20) /* a client that reads nothing is given up here */

void control_client_out_fini(struct control_client_out *out)
{
    free(out->bytes);
    *out = (struct control_client_out){0};
}

struct ga_writer *control_client_out_begin(struct control_client_out *out)
{
    size_t needed = out->size + sizeof(struct wire_header) + WIRE_HANDSHAKE_MAX;
    if (needed > out->capacity && !out->failed) {
        size_t capacity = (needed + 65535) & ~(size_t)65535;
        uint8_t *bytes = capacity <= CLIENT_OUT_MAX ? aligned_alloc(16, capacity) : NULL;
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
                                             WIRE_HANDSHAKE_MAX);
    return &out->writer;
}

void control_client_out_end(struct control_client_out *out, uint16_t opcode, uint64_t sequence)
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

enum ga_status control_client_out_send(struct control_client_out *out, struct transport_conn *conn)
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
    control_client_out_fini(out); /* the next message may be minutes away */
    return GA_OK;
}
