/* The listener of a backend process, and where it shall listen. */
#ifndef SERVER_BACKEND_DATA_PORTS_H
#define SERVER_BACKEND_DATA_PORTS_H

#include "server/channel.h"
#include "transport/transport.h"

/* Listens where the application is expected, with `secret` if it comes with tls, on a port of the
 * configured range, tried from a random one on; `ready` gets what clients shall connect to, and
 * how. GA_INVALID with `why`: none is free. */
GA_CHECKED enum ga_status
data_ports_listen(const struct channel_setup *setup, const struct channel_application *application,
                  const struct transport_secret *secret, struct transport_listener *listener,
                  struct channel_ready *ready, char *why, size_t why_size);

#endif
