/* Backend processes that wait, with their driver open, for an application that does not exist yet:
 * so that it need not wait for a process to start. A spare that is taken or dies is replaced a
 * moment later, so that the replacement does not take the processor from who has just come; one
 * that keeps dying is replaced ever more rarely. */
#ifndef SERVER_CONTROL_WARM_POOL_H
#define SERVER_CONTROL_WARM_POOL_H

#include "server/control/devices.h"
#include "server/control/backend_process.h"

#define SPARES_MOST 64u

struct control;

struct spares {
    struct control *control;
    enum conf_driver driver;
    struct process *processes[SPARES_MOST]; /* the oldest first */
    unsigned count, wanted;
    unsigned deaths; /* in a row, of young ones */
    uv_timer_t refill;
};

/* Begins to keep as many as the configuration says; none if no GPU has this driver. */
void spares_start(struct spares *spares, struct control *control, enum conf_driver driver);
/* Keeps no more. The processes end with the process table. */
void spares_stop(struct spares *spares);

/* A process that no application has: the oldest spare, else a new one. The caller owns it and gives
 * it to the application next (process_assign). GA_LOST or GA_NO_MEMORY with `why`. */
GA_CHECKED enum ga_status spares_take(struct spares *spares, struct process **process, char *why,
                                      size_t why_size);

#endif
