/* SPDX-License-Identifier: Apache-2.0 */
/* The limit bandwidth-out, held where bytes are sent: what is over it waits in the send queue, and
 * other threads go on. All ways count, also those that bypass the queue.
 *
 * Nothing here is atomic: the send queue locks it. */
#ifndef SERVER_CHARGE_SEND_RATE_H
#define SERVER_CHARGE_SEND_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/charge/ledger.h"
#include "server/charge/rate.h"

struct send_rate {
    struct rate rate;
    uint32_t seen;    /* turn of the quota's limits that it is of */
    bool lifted;      /* nothing waits any more */
    uint64_t held_ns; /* nothing is sent before this time */
};

/* How many bytes may be sent now; UINT64_MAX: all. 0: none before `held_ns`. */
uint64_t send_rate_room(struct send_rate *limit, const struct ledger *ledger);
/* For bytes that bypass the queue, which go in parts of some time as well: how long until all that
 * has been sent may have been, and no longer than the limit may be out of date. 0: it is not far
 * ahead of that, as whoever stays below the limit never is. */
uint64_t send_rate_early_ns(struct send_rate *limit, const struct ledger *ledger);
/* How long nothing is sent, as far as known; at most as above. 0: something may be. */
uint64_t send_rate_held_ns(const struct send_rate *limit);

#endif
