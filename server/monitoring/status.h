/* SPDX-License-Identifier: Apache-2.0 */
/* The state of gpuaasd at a moment: the log prints it, and other outputs can. */
#ifndef SERVER_MONITORING_STATUS_H
#define SERVER_MONITORING_STATUS_H

#include "server/applications/status_sink.h"

struct monitoring;

/* Tells the sink the state as it is now, all of it between two events of the loop. Allocates
 * nothing: it works when there is no memory, too. */
void status_collect(const struct monitoring *monitoring, const struct status_sink *sink);
/* Logs a line for each application, client and process, and one with the counts. */
void status_log(const struct monitoring *monitoring);

#endif
