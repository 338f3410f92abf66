/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of the GPUs: from the configuration to the scheduler. */
#ifndef SERVER_CONTROL_SCHEDULING_H
#define SERVER_CONTROL_SCHEDULING_H

#include "base/status.h"

struct control;

/* Starts the scheduler (control->processes.scheduler), if any GPU that clients see has a policy.
 * Their list is there, and no process of theirs. */
GA_CHECKED enum ga_status scheduling_start(struct control *control);
/* No process is left. */
void scheduling_stop(struct control *control);

#endif
