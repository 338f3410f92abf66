/* SPDX-License-Identifier: Apache-2.0 */
/* The service thread. */
#ifndef CLIENT_CONN_SERVICE_H
#define CLIENT_CONN_SERVICE_H

#include <stdbool.h>

/* False: no thread or descriptor is left, and without it a server would take us for dead. Else it
 * runs and looks at everything again. */
bool client_service_start(void);

#endif
