/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of an admin: one request at a time, bounded in bytes and in time. While a reply is
 * on its way nothing is read, so who does not read his replies gets no more of them made. */
#ifndef SERVER_ADMIN_ADMIN_CONN_H
#define SERVER_ADMIN_ADMIN_CONN_H

struct admin;

/* Takes the connection that waits at the listener; who may not gets a reply that says so. */
void admin_conn_accept(struct admin *admin);
void admin_conn_close_all(struct admin *admin);

#endif
