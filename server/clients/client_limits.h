/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that have not greeted (pending), and clients that have and use nothing (idle): how many
 * there may be, and for how long. Neither keeps others out. */
#ifndef SERVER_CLIENTS_CLIENT_LIMITS_H
#define SERVER_CLIENTS_CLIENT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct clients;
struct control_client;

/* `pending_most`: so many may not have greeted. GA_NO_MEMORY. */
GA_CHECKED enum ga_status client_limits_init(struct clients *clients, uint32_t pending_most);
/* All clients have been closed. */
void client_limits_fini(struct clients *clients);

/* The configuration has new times. */
void client_limits_renew(struct clients *clients);

/* A new client is pending; another one that has been so for longer may have to go. GA_NO_MEMORY.
 */
GA_CHECKED enum ga_status control_client_pend(struct control_client *client);
/* The client has greeted, and is one of `clients` from now on. False: there are too many, none of
 * which is idle. */
bool control_client_admit(struct control_client *client);
/* Looks whether it uses anything now. */
void control_client_idle(struct control_client *client);
/* It counts no more. */
void control_client_uncount(struct control_client *client);
/* Descriptors have run out: makes some pending clients go. False: there is none. */
bool client_limits_relieve(struct clients *clients);

#endif
