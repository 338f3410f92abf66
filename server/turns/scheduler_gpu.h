/* SPDX-License-Identifier: Apache-2.0 */
/* The request manager's part for one GPU: between what the sessions say (server/grants.h) and the
 * policy (sched/sched.h). No thread and no system call is in here; the caller guards it. */
#ifndef SERVER_TURNS_SCHEDULER_GPU_H
#define SERVER_TURNS_SCHEDULER_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "server/figures.h"
#include "server/grants.h"
#include "server/turns/scheduler.h"

struct time_share;

/* A turn that is over is lost when its session has not looked for so long whether it could return
 * it (it may have been stopped), or has not returned it for so much longer than `patience` (a
 * kernel of it runs for long). Others go on, and it gets no turn before it has returned that one.
 */
#define SCHEDULER_PATIENCE_NS (250 * GA_NS_PER_MS)

struct scheduler_gpu {
    struct scheduler_settings settings;
    struct sched *sched;
    struct ga_list members;
    struct scheduler_member **by_slot; /* slots of sched; NULL: nobody has it */
    uint32_t slots;
    uint64_t decisions;
    uint64_t next_ns; /* when to take the next turn, if nothing happens; SCHED_NEVER: not */
};

/* A session. The caller sets the first part. */
struct scheduler_member {
    const struct scheduler_process *process;
    struct ga_list fellow;  /* of the process */
    uint32_t seat, ordinal; /* there; of the GPU in its driver */
    const struct grant_request *request;
    struct grant *grant;
    const struct figures *figures;
    struct sched_request asks; /* as sched knows it */

    struct ga_list link; /* of the GPU */
    struct scheduler_gpu *gpu;
    uint32_t slot; /* of sched */
    uint64_t joined_ns;
    uint64_t before_ns[GPU_ENGINES];  /* what it had used when it came */
    uint64_t charged_ns[GPU_ENGINES]; /* of what it says that it has used since */
    struct scheduler_part {           /* of the time that others had work for, too */
        uint64_t had_ns;              /* it had work for so long, as it says, ... */
        double got_ns, from_ns;       /* ... and got that; less what it had when it came */
        double part;                  /* got of had, the last time */
        bool known;
    } parts[GPU_ENGINES];
    uint64_t before_demand_ns, before_done_ns;
    uint64_t filled_ns;                 /* of its cap, as it has been charged */
    double recent_ns, recent_filled_ns; /* of kernels; what was before fades */
    uint64_t turn, until_ns;            /* the last one that it has been granted */
    uint64_t hold_ns;                   /* with no work it returns it after so long */
    unsigned what;                      /* is allowed in it */
    enum gpu_phase phase;               /* that it has asked for */
    bool awake;                         /* the policy has said so */
    bool holds, lost;                   /* it has not returned its turn; not in time */
    bool rings;                         /* its process must hear of a change */
};

GA_CHECKED enum ga_status scheduler_gpu_init(struct scheduler_gpu *gpu,
                                             const struct scheduler_settings *settings,
                                             uint64_t now);
/* Needs a GPU without members. */
void scheduler_gpu_fini(struct scheduler_gpu *gpu);
void scheduler_gpu_change(struct scheduler_gpu *gpu, const struct scheduler_settings *settings,
                          uint64_t now);
GA_CHECKED enum ga_status scheduler_gpu_join(struct scheduler_gpu *gpu,
                                             struct scheduler_member *member, uint64_t now);
void scheduler_gpu_leave(struct scheduler_member *member, uint64_t now);
/* Other terms of its tenant. */
void scheduler_gpu_terms(struct scheduler_member *member, const struct scheduler_terms *terms,
                         uint64_t now);
/* See scheduler_session_share. */
void scheduler_gpu_share(struct scheduler_member *member, const struct time_share *share);
/* Reads what the members say, asks the policy, and grants. Sets `next_ns`, and `rings` of members
 * whose grant has changed so that they must look. */
void scheduler_gpu_turn(struct scheduler_gpu *gpu, uint64_t now);

#endif
