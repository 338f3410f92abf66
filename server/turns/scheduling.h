/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduling of the GPUs: from the configuration and from admins to the scheduler
 * (scheduler.h). Its thread begins when it is needed: a GPU has a policy, or a tenant a cap.
 * Programs that run by then take turns from that moment on.
 *
 * gpuaasd's loop only. */
#ifndef SERVER_TURNS_SCHEDULING_H
#define SERVER_TURNS_SCHEDULING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct conf;
struct conf_scheduling;
struct device;
struct processes;

/* Whether any GPU has a policy in the configuration. */
bool scheduling_is_wanted(const struct conf *conf);
/* Starts the scheduler of these processes, if any GPU has a policy. The list of GPUs is there, and
 * no process of theirs. */
GA_CHECKED enum ga_status scheduling_start(struct processes *processes);
/* Starts it while gpuaasd serves: what runs takes turns, too. GA_NO_MEMORY: not all of it; may be
 * repeated. */
GA_CHECKED enum ga_status scheduling_begin_late(struct processes *processes);
/* No process is left. */
void scheduling_stop(struct processes *processes);

/* Whether a GPU can be used so; see conf_scheduling_check. */
GA_CHECKED enum ga_status scheduling_check(const struct device *device,
                                           const struct conf_scheduling *scheduling, char *why,
                                           size_t why_size);
/* A GPU of the list that clients see is used so from now on, and in `conf`; it can be.
 * GA_NO_MEMORY: nothing has changed. */
GA_CHECKED enum ga_status scheduling_set(struct processes *processes, struct conf *conf,
                                         uint32_t gpu, const struct conf_scheduling *scheduling);
/* As scheduling_set, for all GPUs, from a configuration that has just been read. */
void scheduling_reload(struct processes *processes, struct conf *conf, const struct conf *fresh);
/* GPUs whose policy does not use this limit of tenants (sched_policy_uses). */
uint32_t scheduling_ignoring(const struct processes *processes, const char *limit);

#endif
