/* SPDX-License-Identifier: Apache-2.0 */
/* The warm pool: spare backend processes that wait with their driver open, so that a new
 * application need not wait for a process to start. A spare that is taken or dies is replaced a
 * moment later, so that starting the replacement does not take the processor from the new
 * application; one that keeps dying is replaced ever more rarely. */
#ifndef SERVER_PROCESSES_WARM_POOL_H
#define SERVER_PROCESSES_WARM_POOL_H

#include "base/status.h"
#include "conf/conf.h"
#include "server/timers.h"

#define WARM_POOL_MAX 64u

struct backend_process;
struct processes;

struct warm_pool {
    struct processes *room; /* NULL: not started */
    enum conf_driver driver;
    struct backend_process *processes[WARM_POOL_MAX]; /* the oldest first */
    unsigned count, wanted;
    unsigned deaths; /* in a row, of young ones */
    struct server_timer refill;
};

/* Begins to keep as many as the configuration says; none if no GPU has this driver. */
void warm_pool_start(struct warm_pool *pool, struct processes *room, enum conf_driver driver);
/* Its processes give way to new ones, which get what the configuration says now. */
void warm_pool_renew(struct warm_pool *pool);
/* Keeps no more. The processes end with the process table. */
void warm_pool_stop(struct warm_pool *pool);

/* A process with a free seat, which an application takes next (seat_take): one that goes on after
 * its applications, else the oldest spare, else a new one. GA_LOST or GA_NO_MEMORY with `why`. */
GA_CHECKED enum ga_status warm_pool_take(struct warm_pool *pool, struct backend_process **process,
                                         char *why, size_t why_size);

#endif
