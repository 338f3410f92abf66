/* SPDX-License-Identifier: Apache-2.0 */
/* Returning cached memory when an application runs out: gpuaasd passes the request on to the
 * backend processes of the others that have opened the same GPU, and says whether all have
 * answered; not how many there are.
 *
 * Note: the backend process of the asking application has seen that the driver refused memory. It
 * is a stranger's all the same, so an application may ask RECLAIM_BURST times at once, and then
 * once in RECLAIM_EVERY_NS; beyond, nobody is asked. */
#ifndef SERVER_SEATS_RECLAIM_H
#define SERVER_SEATS_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "server/channel.h"

#define RECLAIM_EVERY_NS (500 * GA_NS_PER_MS)
#define RECLAIM_BURST    10u

struct backend_process;
struct seat;

/* Facts about an application that has asked, which gpuaasd remembers. */
struct reclaim_asker {
    uint64_t used_ns;  /* until then its turns are used up: less than RECLAIM_BURST ahead of now */
    uint64_t asked_ns; /* when it last made others be asked */
};

/* Whether a packet of a backend process is of that kind. */
bool reclaim_is(const struct channel_request *packet);
/* Answers one: `*packet` becomes the answer. */
void reclaim_answer(struct seat *seat, struct channel_request *packet);

#endif
