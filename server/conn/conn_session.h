/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions are agreed with the client: the messages SESSION_OPEN and WINDOW. False ends the
 * connection. */
#ifndef SERVER_CONN_CONN_SESSION_H
#define SERVER_CONN_CONN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "api/handshake.h"
#include "base/cursor.h"

struct server_conn;
struct wire_header;

/* `admitted`: the ticket has been used already, for the connection itself. */
bool session_open(struct server_conn *conn, const struct handshake_data_hello *hello,
                  uint64_t sequence, bool admitted);
bool session_window(struct server_conn *conn, const struct wire_header *header,
                    struct ga_reader *reader);

#endif
