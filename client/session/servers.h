/* What servers.c, which asks the servers, has of server_devices.c. */
#ifndef CLIENT_SESSION_SERVERS_H
#define CLIENT_SESSION_SERVERS_H

#include "client/call/state.h"

/* Adds a server that has answered, and its devices. */
void client_servers_add(struct client_server *server, const struct handshake_welcome *welcome);
/* Whether the environment chooses devices, which may not be the first ones. */
bool client_servers_choose_device(void);
/* Leaves those that the environment chooses; then they have their numbers. */
void client_servers_choose(void);

#endif
