/* SPDX-License-Identifier: Apache-2.0 */
/* Cached device memory goes back when another application runs out. */
#ifndef CLIENT_MEMORY_RECLAIM_H
#define CLIENT_MEMORY_RECLAIM_H

#include <stdbool.h>

struct client_conn;
struct client_session;

/* Starts a thread that returns this program's cached memory. */
void client_trim_begin(struct client_conn *conn);
/* Asks other programs to return cached memory, and waits for them, longer at each step. False: no
 * further step can help. */
bool client_trim_others(const struct client_session *session, unsigned step);

#endif
