/* SPDX-License-Identifier: Apache-2.0 */
/* Returning cached memory when an application runs out: gpuaasd passes the request on to the
 * backend processes of the others, and counts those that have not answered yet. */
#ifndef SERVER_CONTROL_RECLAIM_H
#define SERVER_CONTROL_RECLAIM_H

#include <stdbool.h>

#include "server/control/backend_process.h"

/* Answers a packet of that kind: `*packet` becomes the answer. `*fd` is closed and becomes -1.
 * False: it is of another kind, and nothing has happened. */
bool reclaim_answer(struct backend_process *process, struct channel_request *packet, int *fd);

#endif
