/* SPDX-License-Identifier: Apache-2.0 */
/* The greeting of a client with TLS is received in worker threads, because the handshake takes
 * long: a step each time that bytes have arrived. A client that waits for bytes takes no thread. */
#ifndef SERVER_CLIENTS_CLIENT_STEPS_H
#define SERVER_CLIENTS_CLIENT_STEPS_H

#include <stdbool.h>

#include "base/status.h"

struct clients;
struct control_client;

/* GA_NO_MEMORY. */
GA_CHECKED enum ga_status client_steps_init(struct clients *clients);
/* Waits for the steps under way and closes their handles. All clients have been closed. */
void client_steps_fini(struct clients *clients);

/* Whether bytes of this client are received by steps. */
bool control_client_is_stepped(const struct control_client *client);
/* Receives once, in a worker; then control_client_stepped is called. */
void control_client_step(struct control_client *client);

/* ---- for client_steps.c, in client.c */

/* The step is done, with what receiving has answered. */
void control_client_stepped(struct control_client *client, enum ga_status status);

#endif
