/* SPDX-License-Identifier: Apache-2.0 */
/* Claims. A ticket is often asked for before it is known whether the program will use the device
 * (client/session/ticket.c). Until the backend process says that it has opened the device (BOUND),
 * the ticket is a claim: it keeps nobody out. Who opens a device and finds claims in the way has
 * them taken back (VOID), and waits for the answers, so that nobody whose ticket is taken back has
 * used it meanwhile. A program whose claim was taken back asks for another ticket.
 *
 * In the way are claims of other tenants on the GPU, where one of both has GPUs for itself; and
 * those of the tenant's other programs, where with them a limit would be met.
 *
 * Note: what a process answers is a stranger's word, as is all that it does with its GPUs
 * (docs/isolation.md). */
#ifndef SERVER_CONTROL_CLAIMS_H
#define SERVER_CONTROL_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

struct channel_claim;
struct control_application;
struct seat;

/* The application of the seat has got a ticket for this GPU. */
void claims_made(struct seat *seat, uint32_t gpu);
/* It has opened the GPU. */
void claims_bound(struct seat *seat, uint32_t gpu);
/* Whatever its process says, it has had the time to open all that it has tickets for. */
void claims_believed_bound(struct seat *seat);
/* Whether others' claims are in the way of this application, which opens the GPU; they are taken
 * back then. */
bool claims_in_the_way(const struct control_application *application, uint32_t gpu);
/* The answer of a process: whether the claim is no more. */
void claims_answered(struct seat *seat, const struct channel_claim *packet);

#endif
