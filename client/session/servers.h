/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of GPUAAS_SERVERS: asked once, by cuInit. */
#ifndef CLIENT_SESSION_SERVERS_H
#define CLIENT_SESSION_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/status.h"

struct client_server;

extern uint8_t client_application[16];
/* The greetings of cuInit say that the program only looks at the devices. */
extern bool client_servers_observe;
CUresult client_servers_connect(void);
/* Makes the control connection anew if gpuaasd has ended it, which it does when a program uses no
 * device for a while; or if the program has said that it would use none. Under the server's
 * control_lock, and without any connection to a backend process there. GA_LOST with `why`. */
GA_CHECKED enum ga_status client_servers_connect_again(struct client_server *server, char *why,
                                                       size_t why_size);

#endif
