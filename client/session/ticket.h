/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets: the right to connect to a backend process. */
#ifndef CLIENT_SESSION_TICKET_H
#define CLIENT_SESSION_TICKET_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "client/session/opening.h"

struct client_server;

/* Asks for a ticket, without waiting for it (ticket.c). */
GA_CHECKED enum ga_status client_ticket_ask(struct client_server *server, uint32_t device,
                                            uint64_t deadline_ns, char *why, size_t why_size);

enum opening_ticket {
    OPENING_GUESSED, /* that the server may have sent unasked (servers.c) */
    OPENING_ASKED,
};
/* Takes the ticket for the opening's device. */
GA_CHECKED enum ga_status opening_ticket(struct opening *opening, enum opening_ticket which);

#endif
