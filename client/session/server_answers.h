/* SPDX-License-Identifier: Apache-2.0 */
/* The result of asking each server of GPUAAS_SERVERS, for the command `gpuaas`. */
#ifndef CLIENT_SESSION_SERVER_ANSWERS_H
#define CLIENT_SESSION_SERVER_ANSWERS_H

#include "api/driver_servers.h"
#include "base/log.h"
#include "client/session/server_devices.h"

/* Forgets all of them: they are asked anew. */
void client_server_answers_begin(void);
/* `server` NULL: it has not answered, or refuses. `why`: none of its devices are listed; "": they
 * are. */
void client_server_answers_add(const char *address, const struct client_server *server,
                               const char *why);

/* The level for a log line whose text is also told here. */
enum ga_log_level client_server_answers_level(enum ga_log_level level);

extern const struct cuda_driver_servers client_server_answers_table;

#endif
