/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in a second: calls, and bytes in and out. Who is over one is not refused: the submit
 * thread waits before it reads on, so the client waits as for a slow server. Nobody else does.
 *
 * Where there is no limit, that costs one look at a number for each frame; where there is, a look
 * at the counts, and at the clock once in as many as may come in a twentieth of a second. */
#ifndef SERVER_SESSION_RATE_H
#define SERVER_SESSION_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/pipeline/quota.h"

struct server_conn;

enum rate_kind { RATE_CALLS, RATE_IN, RATE_OUT, RATE_KINDS };

struct rate {
    uint64_t per_second; /* UINT64_MAX: no limit */
    uint64_t counted;    /* so many are in `due_ns` */
    uint64_t free;       /* so many more need no look at the clock */
    uint64_t due_ns;     /* when they all would have been at this rate */
};

struct conn_rates {
    uint32_t seen; /* turn of the quota's limits that these are of */
    bool any;      /* of them is limited */
    struct rate of[RATE_KINDS];
};

/* Whether rate_wait has anything to do. `quota` may be NULL: there are no limits. */
static inline bool rate_is_due(const struct conn_rates *rates, const struct quota *quota)
{
    return rates->any || (quota != NULL && quota_turn(quota) != rates->seen);
}

/* The time at which `now_count` are allowed, when it is `now`; a tenth of a second's worth may come
 * at once, and half of that may come uncounted (`free`), which delays nobody who is below the rate.
 * Pure. */
uint64_t rate_count(struct rate *rate, uint64_t now_count, uint64_t now);

/* Takes limits that have changed, and waits for as long as the limits want. Submit thread. */
void rate_wait(struct server_conn *conn);

#endif
