/* SPDX-License-Identifier: Apache-2.0 */
/* A client of gpuaasd: one control connection of an application (application.h, which may outlive
 * it). */
#ifndef SERVER_CONTROL_CLIENT_H
#define SERVER_CONTROL_CLIENT_H

#include "server/control/control.h"

struct status_sink;

/* Prepares a control whose configuration and loop are set. GA_NO_MEMORY. */
GA_CHECKED enum ga_status control_clients_init(struct control *control);
/* Ends what that has begun; all clients have been closed. */
void control_clients_fini(struct control *control);
/* Takes ownership of the connection. `tls`: it is encrypted, and its data must be, too. */
void control_client_accept(struct control *control, const struct transport_conn *conn, bool tls);
/* Tells the sink each client. */
void control_client_status(const struct control *control, const struct status_sink *sink);
/* Closes all. */
void control_client_close_all(struct control *control);

#endif
