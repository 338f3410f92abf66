/* SPDX-License-Identifier: Apache-2.0 */
/* The backend processes of this node and the GPUs that they open: what this room knows. The rooms
 * above give applications seats in processes. */
#ifndef SERVER_PROCESSES_PROCESSES_H
#define SERVER_PROCESSES_PROCESSES_H

#include <stdbool.h>
#include <uv.h>

#include "base/list.h"
#include "conf/conf.h"
#include "server/channel.h"
#include "server/processes/devices.h"
#include "server/processes/health.h"
#include "server/processes/images.h"
#include "server/processes/warm_pool.h"
#include "server/timers.h"

struct backend_process;
struct processes;
struct scheduler;

/* How processes take turns on their GPUs; set by the owner of `scheduler`. */
struct process_turns_ops {
    /* The scheduler knows the process from now on. GA_NO_MEMORY: nothing has changed. */
    enum ga_status (*begin)(struct backend_process *process);
    /* Its channel has room again. */
    void (*room)(struct backend_process *process);
    /* The process is gone. */
    void (*end)(struct backend_process *process);
};

struct processes {
    uv_loop_t *loop;
    struct server_timers *timers;
    const struct conf *conf; /* its values may be others from one event of the loop to the next */
    struct channel_identity identity; /* of backend processes */
    struct devices devices;
    struct ga_list processes; /* struct backend_process */
    unsigned count;
    uint64_t last_number; /* of a process */
    struct images images; /* what their applications have sent */
    struct warm_pool warm_pools[DEVICES_DRIVERS];
    struct health_check health[DEVICES_DRIVERS];
    bool serving;                          /* the GPUs are known */
    struct scheduler *scheduler;           /* of their sessions; NULL: there is no policy */
    const struct process_turns_ops *turns; /* with a scheduler */
    uint32_t seats;                        /* applications that a process serves at once */
    bool outlives;                         /* processes go on when their applications have ended */
    void (*emptied)(struct processes *processes); /* called when the last one has gone; or NULL */
};

/* `devices` of it is there. */
void processes_init(struct processes *processes, uv_loop_t *loop, struct server_timers *timers,
                    const struct conf *conf);
/* The GPUs are known: keeps spares, and checks GPUs when something is wrong. */
void processes_begin(struct processes *processes);
/* Ends all, and keeps no spares; `at_once`: by SIGKILL. */
void processes_end(struct processes *processes, bool at_once);
/* Lets go of what the loop has no handles of any more. Behind processes_end. */
void processes_fini(struct processes *processes);

#endif
