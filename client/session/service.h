/* SPDX-License-Identifier: Apache-2.0 */
/* The service thread. */
#ifndef CLIENT_SESSION_SERVICE_H
#define CLIENT_SESSION_SERVICE_H

#include <stdbool.h>

/* False: no thread or descriptor is left, and without it a server would take us for dead. */
bool client_service_start(void);
/* Bytes wait in the buffer of a connection, or there is a new one. */
void client_service_wake(void);

#endif
