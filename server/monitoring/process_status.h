/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about backend processes, and the applications that they serve. */
#ifndef SERVER_MONITORING_PROCESS_STATUS_H
#define SERVER_MONITORING_PROCESS_STATUS_H

#include "server/monitoring/status.h"
#include "server/processes/processes.h"

/* Tells the sink each process. */
void process_status(const struct processes *processes, const struct status_sink *sink);

#endif
