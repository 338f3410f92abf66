/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduling of the GPUs: from the configuration, from admins and from the terms of tenants to
 * the scheduler (scheduler.h). Its thread begins when it is needed: a GPU has a policy, or a tenant
 * a cap. Programs that run by then take turns from that moment on.
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
struct control;
struct control_application;
struct device;
struct scheduler_session;
struct scheduler_terms;
struct seat;
struct tenant;

/* Whether any GPU has a policy in the configuration. */
bool scheduling_is_wanted(const struct conf *conf);
/* Starts the scheduler (control->processes.scheduler), if any GPU has a policy.
 * Their list is there, and no process of theirs. */
GA_CHECKED enum ga_status scheduling_start(struct control *control);
/* No process is left. */
void scheduling_stop(struct control *control);

/* Whether a GPU can be used so; see conf_scheduling_check. */
GA_CHECKED enum ga_status scheduling_check(const struct device *device,
                                           const struct conf_scheduling *scheduling, char *why,
                                           size_t why_size);
/* A GPU of the list that clients see is used so from now on; it can be. GA_NO_MEMORY: nothing has
 * changed. */
GA_CHECKED enum ga_status scheduling_set(struct control *control, uint32_t gpu,
                                         const struct conf_scheduling *scheduling);
/* The same for all GPUs, from a configuration that has just been read. */
void scheduling_reload(struct control *control, const struct conf *fresh);
/* GPUs whose policy does not know latency goals. */
uint32_t scheduling_goalless(const struct control *control);

/* Whose an application is, for the scheduler: its tenant's number in the store, so that no new
 * session is one of a new tenant. With auth = off nobody says whose he is: then each is for itself,
 * and has no cap. */
uint64_t scheduling_tenant_of(const struct control_application *application);
struct scheduler_terms scheduling_terms_of(const struct control_application *application);
/* A tenant is here, or has other terms, or is throttled or no more. */
void scheduling_tenant_changed(struct tenant *tenant);

/* What the scheduler knows of a seat on a GPU of the list that clients see. False: it takes no
 * turns there. */
bool scheduling_look(const struct seat *seat, uint32_t gpu, struct scheduler_session *session);

#endif
