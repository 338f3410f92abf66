/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of this process. They are never removed, also when they are lost. */
#ifndef CLIENT_CONN_CONN_LIST_H
#define CLIENT_CONN_CONN_LIST_H

#include "client/conn/conn.h"

/* The n-th connection; NULL: there are no more. */
struct client_conn *client_conn_at_index(unsigned index);
/* The one to this backend process of the owner that is not lost; NULL: none. */
struct client_conn *client_conn_of_process(const void *owner, uint64_t process);
/* If there are too many, it is lost at once. */
void client_conn_add(struct client_conn *conn);

#endif
