/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process begins to take turns on its GPUs: when it is started, or, if there is a policy
 * only later, while it runs. The descriptors for that it has from the start (backend_ends.h).
 *
 * gpuaasd's loop only. */
#ifndef SERVER_TURNS_BACKEND_TURNS_H
#define SERVER_TURNS_BACKEND_TURNS_H

#include "base/status.h"
#include "server/processes/processes.h"

struct backend_process;

/* The functions that the room of processes calls, from when on there is a scheduler. */
extern const struct process_turns_ops backend_turns_ops;

/* A process that runs begins to take turns, and so do its sessions. GA_NO_MEMORY: not for all of
 * them; may be repeated. */
GA_CHECKED enum ga_status backend_turns_begin_late(struct backend_process *process);

#endif
