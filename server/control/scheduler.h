/* SPDX-License-Identifier: Apache-2.0 */
/* The request manager of a node (Strings, SC14, III-C): who may use a GPU now. A thread of its own
 * reads what the sessions of all backend processes want (server/grants.h), asks the policy of each
 * GPU (sched/sched.h), and grants turns, which end by time. Without a policy there is no such
 * thread, and no session asks.
 *
 * Functions are for gpuaasd's loop; they wait for no disk, no process and no GPU. */
#ifndef SERVER_CONTROL_SCHEDULER_H
#define SERVER_CONTROL_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct backend_process;
struct sched_policy;
struct scheduler;
struct seat;

/* Of a GPU. */
struct scheduler_settings {
    const struct sched_policy *policy; /* of sched/; NULL: everybody may work at any time */
    uint64_t slice_ns;                 /* a turn, at most */
    uint64_t epoch_ns;                 /* between two accounts: quantum of LAS, epoch of TFS */
    uint64_t horizon_ns;               /* of work that a session has submitted ahead, at most */
    uint64_t hold_ns;                  /* a session keeps its turn for so long with nothing to do */
};

/* Of a tenant; they hold for each GPU. */
struct scheduler_terms {
    uint32_t weight;      /* of his share, from 1 */
    uint32_t priority;    /* greater is first */
    uint32_t cap_percent; /* of a GPU's time, at most; 100: no cap */
};

/* A session, for people who look. */
struct scheduler_session {
    uint64_t process;      /* number of the backend process */
    uint32_t seat, tenant; /* there; and the tenant's number */
    struct scheduler_terms terms;
    uint64_t used_ns;    /* GPU time so far, as it says */
    uint64_t waited_ns;  /* for turns, so far; with the wait that goes on */
    uint64_t turns;      /* that it has had */
    bool waiting, holds; /* it waits for a turn; it has one */
};

/* A scheduler for GPUs 0..gpus-1 of the list that clients see, with settings for each. Its thread
 * runs if any has a policy. */
GA_CHECKED enum ga_status scheduler_start(struct scheduler **out,
                                          const struct scheduler_settings *settings, uint32_t gpus);
void scheduler_stop(struct scheduler *scheduler);

/* What holds for a GPU. */
struct scheduler_settings scheduler_settings_of(struct scheduler *scheduler, uint32_t gpu);
/* Settings that hold from the next decision on. What sessions have used and waited for is kept;
 * their turns go on. */
GA_CHECKED enum ga_status scheduler_change(struct scheduler *scheduler, uint32_t gpu,
                                           const struct scheduler_settings *settings);
/* New terms of a tenant, by his number; nothing happens if no session of his is here. */
void scheduler_terms_change(struct scheduler *scheduler, uint32_t tenant,
                            const struct scheduler_terms *terms);
/* Tells the sessions of a GPU, of which `room` fit; returns how many there are. */
uint32_t scheduler_snapshot(struct scheduler *scheduler, uint32_t gpu,
                            struct scheduler_session *sessions, uint32_t room);

#endif
