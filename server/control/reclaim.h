/* SPDX-License-Identifier: Apache-2.0 */
/* Returning cached memory when an application runs out: gpuaasd passes the request on to the
 * backend processes of the others, and counts those that have not answered yet. */
#ifndef SERVER_CONTROL_RECLAIM_H
#define SERVER_CONTROL_RECLAIM_H

#include <stdbool.h>

#include "server/control/backend_process.h"

/* Whether a packet of a backend process is of that kind. */
bool reclaim_is(const struct channel_request *packet);
/* Answers one: `*packet` becomes the answer. */
void reclaim_answer(struct backend_process *process, struct channel_request *packet);

#endif
