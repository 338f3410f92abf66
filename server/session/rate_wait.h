/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in a second that the submit thread holds a program to: calls, and bytes in. Who is over
 * one is not refused: the thread waits before it reads on, so the client waits as for a slow
 * server. Nobody else does: the program's turn on a GPU is returned meanwhile (turn_gate.h). Bytes
 * out wait in the send queue (pipeline/send_rate.h).
 *
 * Where there is no limit, that costs one look at a number for each frame. */
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
};

/* Whether rate_wait has anything to do. `quota` may be NULL: there are no limits. */
static inline bool rate_is_due(const struct conn_rates *rates, const struct quota *quota)
{
    return rates->any || (quota != NULL && quota_turn(quota) != rates->seen);
}

/* Takes limits that have changed, and waits for as long as the limits want. True: it has, and has
 * asked the gates meanwhile, so the session may have no turn any more. Submit thread. */
bool rate_wait(struct server_conn *conn);

/* Call before bytes go out by another way than the send queue: waits until the limit bandwidth-out
 * allows them. True: it has, and has asked the gates meanwhile, so the session may have no turn any
 * more. Submit thread. */
bool rate_wait_out(struct server_conn *conn);

#endif
