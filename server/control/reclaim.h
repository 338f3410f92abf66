/* Memory that applications keep for later is given back when another one lacks it: gpuaasd passes
 * the wish on to their backend processes, and counts who has not done so yet. */
#ifndef SERVER_CONTROL_RECLAIM_H
#define SERVER_CONTROL_RECLAIM_H

#include <stdbool.h>

#include "server/control/backend_process.h"

/* Answers a packet of that kind: `*packet` becomes the answer. `*fd` is closed and becomes -1.
 * False: it is of another kind, and nothing has happened. */
bool trim_answer(struct backend_process *process, struct channel_exchange *packet, int *fd);

#endif
