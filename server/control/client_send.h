/* What gpuaasd has for a client and the socket has not yet taken. */
#ifndef SERVER_CONTROL_CLIENT_SEND_H
#define SERVER_CONTROL_CLIENT_SEND_H

#include <stddef.h>

#include "api/wire.h"
#include "base/cursor.h"
#include "transport/transport.h"

struct peer_out {
    uint8_t *bytes; /* 16-aligned, owned */
    size_t size, capacity;
    size_t sent;
    bool failed; /* no memory: the peer is lost */
    struct ga_writer writer;
};

void peer_out_fini(struct peer_out *out);
/* Room for one message of at most WIRE_HANDSHAKE_MOST bytes; ended by peer_out_end. */
struct ga_writer *peer_out_begin(struct peer_out *out);
void peer_out_end(struct peer_out *out, uint16_t opcode, uint64_t sequence);
/* GA_OK: nothing is left. GA_AGAIN: wait for writability. GA_LOST. */
GA_CHECKED enum ga_status peer_out_send(struct peer_out *out, struct transport_conn *conn);

#endif
