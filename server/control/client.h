/* A client of gpuaasd: one control connection, which is one application. When it ends, the
 * application's backend processes end, too, and nothing is kept. */
#ifndef SERVER_CONTROL_CLIENT_H
#define SERVER_CONTROL_CLIENT_H

#include "server/control/control.h"

/* Takes ownership of the connection. `tls`: it is encrypted, and its data must be, too. */
void control_client_accept(struct control *control, const struct transport_conn *conn, bool tls);
/* Logs a line for each (info). */
void control_client_report(const struct control *control);
/* Closes all. */
void control_client_close_all(struct control *control);

#endif
