/* SPDX-License-Identifier: Apache-2.0 */
/* A new connection to a backend process. */
#ifndef CLIENT_SESSION_CONNECT_H
#define CLIENT_SESSION_CONNECT_H

#include "base/status.h"
#include "client/session/opening.h"

/* Connects to the backend process of the ticket and opens the session: a new connection. */
GA_CHECKED enum ga_status opening_connect(struct opening *opening, struct client_conn **conn);

#endif
