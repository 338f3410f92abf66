/* SPDX-License-Identifier: Apache-2.0 */
/* Limits in a second that the submit thread holds a program to: calls, and bytes in. A program over
 * a limit is not refused: the thread waits before it reads on, so the client waits as for a slow
 * server. No other program waits: the turn on a GPU is returned in this time (turn_gate.h). Bytes
 * out wait in the send queue (charge/send_rate.h). */
#ifndef SERVER_CONN_RATE_WAIT_H
#define SERVER_CONN_RATE_WAIT_H

#include <stdbool.h>

#include "server/charge/app_rates.h"

struct server_conn;

/* Takes limits that have changed, and waits for as long as the limits want. True: it has, and has
 * asked the gates meanwhile, so the session may have no turn any more. Submit thread. */
bool rate_wait(struct server_conn *conn);

/* Call before bytes go out by another way than the send queue: waits until the limit bandwidth-out
 * allows them. True: it has, and has asked the gates meanwhile, so the session may have no turn any
 * more. Submit thread. */
bool rate_wait_out(struct server_conn *conn);

#endif
