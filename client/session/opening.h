/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a session: the state that ticket.c, connect.c and session.c pass on. */
#ifndef CLIENT_SESSION_OPENING_H
#define CLIENT_SESSION_OPENING_H

#include "client/session/server_devices.h"
#include "client/session/session.h"

struct opening {
    struct client_device *device;
    uint64_t deadline_ns;
    char why[300];                  /* cause of a failure, in words */
    CUresult result;                /* of a failure, for the program */
    struct handshake_ticket ticket; /* `address` is in `address` below */
    char address[300];
    char local[128]; /* address for programs on the server's machine; "" : none */
    struct handshake_window window;
    struct handshake_context context; /* to be made with the session */
    uint16_t session;
    struct client_first first; /* result of making the context */
    uint64_t cache_bytes;      /* limit on freed bytes that may stay cached */
    uint32_t lacking_count;    /* calls that the server lacks, and which */
    struct api_op_set lacking;
    bool compresses;      /* the server takes compressed bytes */
    uint64_t round_trips; /* number of them, one after the other */
};

/* Takes result and cause from a REFUSED message. */
void opening_refused(struct opening *opening, struct ga_reader *values);

void opening_hello(const struct opening *opening, enum handshake_kind kind,
                   struct handshake_data_hello *hello);
/* Takes an answer to DATA_HELLO, SESSION_OPEN or WINDOW. */
GA_CHECKED enum ga_status opening_welcome(struct opening *opening, uint16_t opcode,
                                          struct ga_reader *values,
                                          struct handshake_data_welcome *welcome);
/* Negotiates the window until both ends have the same. `ask` sends a WINDOW with `opening->window`
 * and takes the answer. */
typedef enum ga_status opening_ask(struct opening *opening, void *user,
                                   struct handshake_data_welcome *welcome);
GA_CHECKED enum ga_status opening_agree(struct opening *opening, opening_ask *ask, void *user,
                                        struct handshake_data_welcome *welcome);

#endif
