/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of an admin: one request at a time, bounded in bytes and in time. While a reply is
 * on its way nothing is read, so an admin that does not read its replies gets no more of them. */
#ifndef SERVER_ADMIN_ADMIN_CONN_H
#define SERVER_ADMIN_ADMIN_CONN_H

#include "auth/auth.h"
#include "transport/transport.h"

struct admin;

/* Takes a connection of the admin socket; a peer that may not administer gets a reply that says
 * so. */
void admin_conn_local(struct admin *admin, int fd);
/* Takes one over the network; `grant` is owned, and holds while the admin is connected: that is
 * checked before each request. */
void admin_conn_remote(struct admin *admin, const struct transport_conn *transport,
                       struct auth_grant *grant, const char *address);
void admin_conn_close_all(struct admin *admin);

#endif
