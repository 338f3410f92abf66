/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process begins to take turns on its GPUs: when it is started, or, if there is a policy
 * only later, while it runs. What it needs for that it has from the start (backend_ends.h).
 *
 * gpuaasd's loop only. */
#ifndef SERVER_CONTROL_BACKEND_TURNS_H
#define SERVER_CONTROL_BACKEND_TURNS_H

#include "base/status.h"

struct backend_process;

/* The scheduler, which runs, knows it from now on. GA_NO_MEMORY: nothing has changed. */
GA_CHECKED enum ga_status backend_turns_begin(struct backend_process *process);
/* The same for a process that runs, and for its sessions. GA_NO_MEMORY: not for all of them; may be
 * repeated. */
GA_CHECKED enum ga_status backend_turns_begin_late(struct backend_process *process);
/* Its channel has room again. */
void backend_turns_room(struct backend_process *process);

#endif
