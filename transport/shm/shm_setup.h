/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an upgraded connection, and how it is offered and taken (inside transport/).
 */
#ifndef TRANSPORT_SHM_SHM_SETUP_H
#define TRANSPORT_SHM_SHM_SETUP_H

#include <stdatomic.h>

#include "transport/shm/ring.h"

struct rings {
    struct ring to_server, to_client;
    _Atomic uint32_t closed; /* by either end, in order */
};

/* The client's first byte, with memory and a second socket (`*room`, this end's). Both are the
 * caller's; NULL: it could not be done, and nothing was said. */
struct rings *shm_offer_make(int fd, int *room);
/* Or: bytes will go through the socket. */
GA_CHECKED enum ga_status shm_offer_none(int fd);
/* The server's end: what the client has said. `*out` NULL and `*room` -1: a stream. GA_LOST: what
 * it offers is not what an honest client offers; nothing of it stays. */
GA_CHECKED enum ga_status shm_offer_take(int fd, struct rings **out, int *room);
void shm_rings_unmap(struct rings *rings);

#endif
