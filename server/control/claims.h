/* SPDX-License-Identifier: Apache-2.0 */
/* Claims. A ticket is often asked for before it is known whether the program will use the device
 * (client/session/ticket.c). Until the backend process says that it has opened the device (BOUND),
 * the ticket is a claim: it keeps nobody out. A client that opens a device and finds claims in the
 * way has them taken back (VOID), and waits for the answers, so that no ticket that is taken back
 * has been used. A program whose claim was taken back asks for another ticket.
 *
 * In the way are claims of other tenants on the GPU, where one of both has GPUs for itself; and
 * those of the tenant's other programs, where with them a limit would be met.
 *
 * A claim is safe for CLAIMS_SAFE_NS, in which a program that means it opens the device. A client
 * that waits stands in line, and none gets a claim that would be in the way of one before it: one
 * that asks again and again comes behind all that wait. A client has one place in the line at a
 * time.
 *
 * Note: what a process answers is a stranger's word, as is all that it does with its GPUs
 * (docs/isolation.md), and not taken for ever (claims_doubted). */
#ifndef SERVER_CONTROL_CLAIMS_H
#define SERVER_CONTROL_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/status.h"

#define CLAIMS_SAFE_NS GA_NS_PER_S

struct channel_claim;
struct control_application;
struct seat;

/* The claim of a seat on a GPU. */
struct claim {
    uint64_t made_ns;  /* when the last ticket for it was given */
    uint64_t asked_ns; /* since when it is to be taken back; 0: it is not */
    uint32_t ticket;   /* the last one: which of the seat's */
};

/* The place of a client in the line. All zeros: it has none. */
struct claims_place {
    struct ga_list link;
    const struct control_application *application; /* NULL: it does not wait */
    uint32_t gpu;                                  /* that it opens */
    bool limited; /* with others' claims a limit of its tenant would be met */
    uint64_t until_ns;
};

/* Room for the seat's claims. GA_NO_MEMORY. */
GA_CHECKED enum ga_status claims_room(struct seat *seat);
/* The application of the seat has got a ticket for this GPU. There is room. */
void claims_made(struct seat *seat, uint32_t gpu);
/* The seat has opened the GPU. */
void claims_bound(struct seat *seat, uint32_t gpu);
/* Whether this application, which opens the GPU, may have a ticket as far as others' claims go;
 * those in the way are taken back. GA_AGAIN: it waits, in this place of the line if the place is
 * free or for this GPU. GA_DENIED: it has waited in vain. */
GA_CHECKED enum ga_status claims_ask(const struct control_application *application, uint32_t gpu,
                                     struct claims_place *place);
/* It waits no more. Any number of times. */
void claims_leave(struct claims_place *place);
/* Whether the application has any claims; all of them are taken back. */
bool claims_any(const struct control_application *application);
void claims_take_back(const struct control_application *application);
/* The answer of a process: whether the claim is no more. */
void claims_answered(struct seat *seat, const struct channel_claim *packet);
/* Whether it is not believed that a ticket of the seat has not been used: the program has had the
 * process for longer than a ticket is good. Its claims are in the way until the process is gone,
 * which it must be then; otherwise the program would soon count as one that has a session. */
bool claims_doubted(const struct seat *seat);

#endif
