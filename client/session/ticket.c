/* SPDX-License-Identifier: Apache-2.0 */
/* The ticket for a device, from the control connection.
 *
 * A program that asks for the list of devices will use the first one soon, in most cases. The
 * client's greeting is therefore followed by an OPEN for it, and the ticket has arrived when the
 * device is used, which saves a round trip. It is only a guess: if such a ticket does not work, the
 * client asks for another one. */
#include <stdio.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "client/conn/greeting.h"
#include "client/session/ticket.h"

/* A ticket is good for ticket_s: ten seconds unless set. */
#define GUESS_GOOD_NS (5 * GA_NS_PER_S)

/* Answers to what nobody waits for any more are skipped. */
static enum ga_status read_ticket(struct opening *opening, uint64_t sequence)
{
    struct client_server *server = opening->device->server;
    for (;;) {
        struct wire_header header;
        struct ga_reader values;
        GA_TRY(client_frame_receive(&server->reader, &server->control, opening->deadline_ns,
                                    &header, &values, opening->why, sizeof opening->why));
        bool mine = header.sequence == sequence;
        enum ga_status status = GA_DENIED;
        if (mine && header.opcode == WIRE_TICKET) {
            (void)GA_FAILPOINT("client: ticket read");
            status = handshake_ticket_read(&values, &opening->ticket);
            if (status == GA_OK) {
                snprintf(opening->address, sizeof opening->address, "%s", opening->ticket.address);
                snprintf(opening->local, sizeof opening->local, "%s", opening->ticket.local);
            }
        } else if (mine) {
            opening_refused(opening, &values);
        }
        frame_drop(&server->reader);
        if (mine) {
            return status;
        }
    }
}

enum ga_status client_ticket_ask(struct client_server *server, uint32_t device,
                                 uint64_t deadline_ns, char *why, size_t why_size)
{
    struct client_frame frame;
    GA_TRY(client_frame_begin(&frame));
    const struct handshake_open open = {.device = device};
    handshake_open_write(&frame.writer, &open);
    enum ga_status status = client_frame_send(&frame, WIRE_OPEN, 0, ++server->control_sequence,
                                              &server->control, deadline_ns, why, why_size);
    client_frame_end(&frame);
    (void)GA_FAILPOINT("client: open sent");
    return status;
}

enum ga_status opening_ticket(struct opening *opening, enum opening_ticket which)
{
    struct client_server *server = opening->device->server;
    if (which == OPENING_GUESSED) {
        bool good = server->guessed_ns != 0 && opening->device->index == 0 &&
                    ga_clock_ns() - server->guessed_ns < GUESS_GOOD_NS;
        server->guessed_ns = 0;
        return good ? read_ticket(opening, server->control_sequence) : GA_DENIED;
    }
    GA_TRY(client_ticket_ask(server, opening->device->index, opening->deadline_ns, opening->why,
                             sizeof opening->why));
    opening->round_trips++;
    return read_ticket(opening, server->control_sequence);
}
