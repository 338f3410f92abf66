/* SPDX-License-Identifier: Apache-2.0 */
/* The listener of a backend process, and where it shall listen. */
#ifndef SERVER_BACKEND_DATA_PORTS_H
#define SERVER_BACKEND_DATA_PORTS_H

#include "server/channel.h"
#include "transport/transport.h"

/* Listens at the application's address, with `secret` if it uses tls, on a port of the configured
 * range, beginning at a random one. `ready` gets the addresses and ways for clients. GA_INVALID
 * with `why`: no port is free. */
GA_CHECKED enum ga_status
data_ports_listen(const struct channel_setup *setup, const struct channel_application *application,
                  const struct transport_secret *secret, struct transport_listener *listener,
                  struct channel_ready *ready, char *why, size_t why_size);

#endif
