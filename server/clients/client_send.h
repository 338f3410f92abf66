/* SPDX-License-Identifier: Apache-2.0 */
/* The send queue of a control connection: bytes that the socket has not taken yet. */
#ifndef SERVER_CLIENTS_CLIENT_SEND_H
#define SERVER_CLIENTS_CLIENT_SEND_H

#include <stddef.h>

#include "api/wire.h"
#include "base/cursor.h"
#include "transport/transport.h"

struct control_client_out {
    uint8_t *bytes; /* 16-aligned, owned */
    size_t size, capacity;
    size_t sent;
    bool failed; /* no memory: the client is lost */
    struct ga_writer writer;
};

void control_client_out_fini(struct control_client_out *out);
/* Room for one message of at most WIRE_HANDSHAKE_MAX bytes; ended by control_client_out_end. */
struct ga_writer *control_client_out_begin(struct control_client_out *out);
void control_client_out_end(struct control_client_out *out, uint16_t opcode, uint64_t sequence);
/* GA_OK: nothing is left. GA_AGAIN: wait for writability. GA_LOST. */
GA_CHECKED enum ga_status control_client_out_send(struct control_client_out *out,
                                                  struct transport_conn *conn);

#endif
