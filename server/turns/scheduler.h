/* SPDX-License-Identifier: Apache-2.0 */
/* The request manager of a node (Strings, SC14, III-C): it decides which sessions may use a GPU
 * now. A thread of its own reads what the sessions of all backend processes want (server/grants.h),
 * asks the policy of each GPU (sched/sched.h), and grants turns, which end by time. Without a
 * policy there is no such thread, and no session asks.
 *
 * Functions are for gpuaasd's loop; they wait for no disk, no process and no GPU. */
#ifndef SERVER_TURNS_SCHEDULER_H
#define SERVER_TURNS_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

struct figures;
struct grant_requests;
struct grants;
struct scheduler;
struct scheduler_process;
struct time_share;

/* The settings of a GPU; they pass sched_settings_check. */
struct scheduler_settings {
    const struct sched_policy *policy;
    struct sched_settings values;
    struct sched_gpu gpu;
};

/* The terms of a tenant; they hold for each GPU. As in struct sched_request. */
struct scheduler_terms {
    uint32_t weight, priority, cap_percent, throttle_percent;
    uint64_t goal_ns;
};

/* A session, for monitoring. */
struct scheduler_session {
    uint64_t process; /* number of the backend process */
    uint32_t seat;    /* there */
    uint64_t tenant;  /* its number */
    struct scheduler_terms terms;
    struct sched_account account;
    bool waits, holds; /* for a turn; one, which it has not returned */
    bool lost;         /* it has not returned its last turn in time, and has not since */
};

/* A scheduler with a thread, for GPUs 0..gpus-1 of the list that clients see, with settings for
 * each. Stop it when no process is left. */
GA_CHECKED enum ga_status scheduler_start(struct scheduler **out,
                                          const struct scheduler_settings *settings, uint32_t gpus);
void scheduler_stop(struct scheduler *scheduler);

/* The number of its decisions. */
uint64_t scheduler_decisions(struct scheduler *scheduler, uint32_t gpu);
/* Settings that hold from the next decision on. Use and waiting times of sessions are kept. */
void scheduler_change(struct scheduler *scheduler, uint32_t gpu,
                      const struct scheduler_settings *settings);
/* New terms of a tenant, by its number; nothing happens if no session of it is here. */
void scheduler_terms_change(struct scheduler *scheduler, uint64_t tenant,
                            const struct scheduler_terms *terms);

/* ---- for backend_process.c and seat.c */

/* A backend process with this number, and our ends of what it has inherited: `bell` and both
 * pieces of memory are the scheduler's from now on, unless it answers NULL (no memory). */
struct scheduler_process *scheduler_process_begin(struct scheduler *scheduler, uint64_t number,
                                                  const struct grant_requests *requests,
                                                  struct grants *grants, int bell);
/* The process has died. */
void scheduler_process_end(struct scheduler_process *process);

/* The application at a seat has a session on a GPU, which is `ordinal` in its driver; nothing
 * happens if that is known. `figures` are the seat's, and are there as long as the process. */
GA_CHECKED enum ga_status scheduler_session_begin(struct scheduler_process *process, uint32_t seat,
                                                  uint32_t gpu, uint32_t ordinal,
                                                  const struct figures *figures, uint64_t tenant,
                                                  const struct scheduler_terms *terms);
/* The session of a seat on a GPU. False: it has none. */
bool scheduler_session_look(struct scheduler_process *process, uint32_t seat, uint32_t gpu,
                            struct scheduler_session *session);
/* Reports the time that the session on the GPU has had, and got, so far; from then on it is assumed
 * to get the same part. */
void scheduler_session_share(struct scheduler_process *process, uint32_t seat, uint32_t gpu,
                             const struct time_share *share);
/* The seat is free: its sessions are no more. */
void scheduler_seat_end(struct scheduler_process *process, uint32_t seat);

#endif
