/* SPDX-License-Identifier: Apache-2.0 */
/* An administrator over the network: its client greets like a program, with WIRE_ADMIN, by TLS and
 * with a certificate that `gpuaasctl cert issue-admin` has made. Then the connection is the admin
 * room's (struct clients_admins). */
#ifndef SERVER_CLIENTS_CLIENT_ADMIN_H
#define SERVER_CLIENTS_CLIENT_ADMIN_H

#include <stdint.h>

#include "api/handshake.h"

struct control_client;

/* Queues the answer to its greeting; sets `client->admin` if it is let in. */
void client_admin_greet(struct control_client *client, const struct handshake_hello *hello,
                        uint64_t sequence);
/* The answer has been sent: gives the connection away, and frees the client. */
void client_admin_leave(struct control_client *client);

#endif
