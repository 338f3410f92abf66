/* SPDX-License-Identifier: Apache-2.0 */
/* The health of GPUs. Programs have errors of their own, so one error says little. When several
 * programs in succession have ended by one that may be the GPU's, or backend processes do not
 * start, a process of its own uses each GPU of the driver as a new program would (a check). A GPU
 * that fails it gets no new sessions until a later check passes. Sessions that are there go on. */
#ifndef SERVER_PROCESSES_HEALTH_H
#define SERVER_PROCESSES_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "conf/conf.h"
#include "server/channel.h"
#include "server/timers.h"

struct backend_process;
struct backend_process_events;
struct processes;

/* The health of a GPU. */
struct health {
    bool failed;
    bool answered;     /* in the check that goes on */
    uint64_t failures; /* checks that it has failed */
    char reason[CHANNEL_TEXT_MAX];
};

/* The check of a driver. */
struct health_check {
    struct processes *room;
    struct backend_process *process; /* NULL: no check goes on */
    struct server_timer timer;       /* until the next one is due */
    unsigned faults;                 /* sessions in succession that have ended by an error */
    uint64_t began_ns;               /* the last one; 0: none */
};

void health_init(struct processes *room);
/* No check goes on from now on. */
void health_stop(struct processes *room);
/* Starts a process that reports on all GPUs of the driver. An error has been logged. */
GA_CHECKED enum ga_status health_probe(struct processes *room, enum conf_driver driver,
                                       enum channel_probe probe,
                                       const struct backend_process_events *events, void *owner,
                                       struct backend_process **out);

/* A session of this driver has ended; `failed`: by an error that may be the GPU's. */
void health_session_ended(struct processes *room, enum conf_driver driver, bool failed);
/* Something is wrong with this driver: its GPUs are checked now, or as soon as health_check_s
 * allows it. */
void health_suspect(struct processes *room, enum conf_driver driver);

#endif
