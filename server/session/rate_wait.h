/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in a second that the submit thread holds a program to: calls, and bytes in. A program over
 * a limit is not refused: the thread waits before it reads on, so the client waits as for a slow
 * server. No other program waits: the turn on a GPU is returned in this time (turn_gate.h). Bytes
 * out wait in the send queue (pipeline/send_rate.h).
 *
 * Where there is no limit, that costs one look at a number for each frame; where there is one, two
 * subtractions, and the rest once in as many calls, or bytes, as need no look at the clock. */
#ifndef SERVER_SESSION_RATE_WAIT_H
#define SERVER_SESSION_RATE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/pipeline/quota.h"
#include "server/pipeline/rate.h"

struct server_conn;

enum rate_kind { RATE_CALLS, RATE_IN, RATE_KINDS };

struct conn_rates {
    uint32_t seen; /* turn of the quota's limits that these are of */
    bool any;      /* of them is limited */
    struct rate of[RATE_KINDS];
    uint64_t left[RATE_KINDS]; /* so many more need no look, if they come by frames */
};

/* Whether rate_wait has anything to do. `quota` may be NULL: there are no limits. */
static inline bool rate_is_due(const struct conn_rates *rates, const struct quota *quota)
{
    return rates->any || (quota != NULL && quota_turn(quota) != rates->seen);
}

/* As rate_is_due, behind a frame of a call, of so many bytes, which counts thereby if it has
 * not. */
static inline bool rate_frame_is_due(struct conn_rates *rates, const struct quota *quota,
                                     uint64_t bytes)
{
    if (quota == NULL || (quota_turn(quota) == rates->seen && !rates->any)) {
        return false;
    }
    if (quota_turn(quota) != rates->seen || rates->left[RATE_CALLS] == 0 ||
        rates->left[RATE_IN] < bytes) {
        return true;
    }
    rates->left[RATE_CALLS]--;
    rates->left[RATE_IN] -= bytes;
    return false;
}

/* Bytes have come by another way than frames. */
static inline void rate_look_soon(struct conn_rates *rates)
{
    rates->left[RATE_IN] = 0;
}

/* Takes limits that have changed, and waits for as long as the limits want. True: it has, and has
 * asked the gates meanwhile, so the session may have no turn any more. Submit thread. */
bool rate_wait(struct server_conn *conn);

/* Call before bytes go out by another way than the send queue: waits until the limit bandwidth-out
 * allows them. True: it has, and has asked the gates meanwhile, so the session may have no turn any
 * more. Submit thread. */
bool rate_wait_out(struct server_conn *conn);

#endif
