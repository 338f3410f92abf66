/* SPDX-License-Identifier: Apache-2.0 */
/* Claims. A ticket is often asked for before it is known whether the program will use the device
 * (client/session/ticket.c). Until the backend process says that it has opened the device (BOUND),
 * the ticket is a claim: it keeps nobody out. An application that opens a device and finds claims
 * in the way has them taken back (VOID), and waits for the answers (claims_line.h), so that no
 * program whose ticket is taken back has used it meanwhile. A program whose claim was taken back
 * asks for another ticket.
 *
 * A claim is safe for CLAIMS_SAFE_NS, in which a program that means it opens the device.
 *
 * Note: what a process answers is a stranger's word, as is all that it does with its GPUs
 * (docs/isolation.md), and not taken for ever (claims_doubted). */
#ifndef SERVER_SEATS_CLAIMS_H
#define SERVER_SEATS_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"

#define CLAIMS_SAFE_NS GA_NS_PER_S

struct channel_claim;
struct seat;

/* The claim of a seat on a GPU. Times are those of timers_awake. */
struct claim {
    uint64_t made_ns;  /* when the last ticket for it was given */
    uint64_t asked_ns; /* since when it is to be taken back; 0: it is not */
    uint32_t ticket;   /* the last one: which of the seat's */
};

/* Whether any claim is in the way; `silent`: a process has been asked for it in vain. */
struct claims_in_way {
    bool any, silent;
};

/* Room for the seat's claims. GA_NO_MEMORY. */
GA_CHECKED enum ga_status claims_room(struct seat *seat);
/* The application of the seat has got a ticket for this GPU. There is room. */
void claims_made(struct seat *seat, uint32_t gpu);
/* The seat has opened the GPU. */
void claims_bound(struct seat *seat, uint32_t gpu);
/* All claims of the seat are taken back. `now`: as timers_awake. */
void claims_void(struct seat *seat, uint64_t now);
/* Its claim on this GPU (`only` UINT32_MAX: on any) is in the way: it is taken back, unless it is
 * safe still. Adds to `found`. */
void claims_clear(struct seat *seat, uint32_t only, uint64_t now, struct claims_in_way *found);
/* The answer of a process: whether the claim is no more. */
void claims_answered(struct seat *seat, const struct channel_claim *packet);
/* Whether it is not believed that a ticket of the seat has not been used: the program has had the
 * process for longer than a ticket is good. Its claims are in the way until the process is gone,
 * which it must be then; otherwise the program would soon count as one that has a session. */
bool claims_doubted(const struct seat *seat);

#endif
