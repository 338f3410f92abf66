/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory of an upgraded connection, and its set-up (inside transport/). */
#ifndef TRANSPORT_SHM_SHM_SETUP_H
#define TRANSPORT_SHM_SHM_SETUP_H

#include <stdatomic.h>

#include "transport/shm/ring.h"

struct rings {
    struct ring to_server, to_client;
    _Atomic uint32_t closed; /* set by either end at an orderly close */
};

/* Sends the client's first byte with memory and a second socket (`*room`, this end's). The
 * caller owns both. NULL: it failed, and nothing was sent. */
struct rings *shm_offer_make(int fd, int *room);
/* Sends the first byte without an offer: bytes go through the socket. */
GA_CHECKED enum ga_status shm_offer_none(int fd);
/* Reads the first byte at the server's end. `*out` NULL and `*room` -1: a stream. GA_LOST: an
 * invalid offer, of which nothing stays. */
GA_CHECKED enum ga_status shm_offer_take(int fd, struct rings **out, int *room);
void shm_rings_unmap(struct rings *rings);

#endif
