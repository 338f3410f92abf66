/* A client of gpuaasd: one control connection, which is one application. Its end is the end of the
 * application's backend processes, and nothing of it is kept. */
#ifndef SERVER_CONTROL_CLIENT_H
#define SERVER_CONTROL_CLIENT_H

#include "server/control/control.h"

/* Takes over the connection. `tls`: it is encrypted, and so must be its data. */
void control_client_accept(struct control *control, const struct transport_conn *conn, bool tls);
/* Logs a line for each (info). */
void control_client_report(const struct control *control);
/* Closes all. */
void control_client_close_all(struct control *control);

#endif
