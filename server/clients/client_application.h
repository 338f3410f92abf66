/* SPDX-License-Identifier: Apache-2.0 */
/* A client joins its application and leaves it; in between, the application tells it of its seats
 * (struct application_client_ops). */
#ifndef SERVER_CLIENTS_CLIENT_APPLICATION_H
#define SERVER_CLIENTS_CLIENT_APPLICATION_H

#include <stdbool.h>

struct control_application;
struct control_client;
struct tenant;

/* It belongs to none yet. */
void client_application_init(struct control_client *client);
/* Takes the caller's use of it. */
void client_application_join(struct control_client *client,
                             struct control_application *application);
/* Nothing happens if it has none. */
void client_application_leave(struct control_client *client);
/* Lets it join its application, which has gone on without a control connection. False: there is no
 * such one of this tenant. */
bool client_application_rejoin(struct control_client *client, const struct tenant *tenant);

#endif
