/* SPDX-License-Identifier: Apache-2.0 */
/* A seat of a backend process, as the process knows it: a number that packets name, and their
 * receiver. Rooms above have the whole seat (server/seats/seat.h). */
#ifndef SERVER_PROCESSES_PROCESS_SEAT_H
#define SERVER_PROCESSES_PROCESS_SEAT_H

#include <stdbool.h>

#include "server/channel.h"

struct process_seat;

struct process_seat_ops {
    /* A packet came that is about it, or FAILED of the whole process. */
    void (*packet)(struct process_seat *seat, const union channel_packet *packet);
    /* Answers a request: `*packet` becomes the answer. Takes the descriptor `*fd` that came with it
     * (or -1); `*fd` becomes that of the answer (or -1), which stays the owner's. False: there is
     * no answer, or it is sent later. */
    bool (*request)(struct process_seat *seat, struct channel_request *packet, int *fd);
    /* There is room again in the process's channel. */
    void (*room)(struct process_seat *seat);
    /* The process takes turns from now on, and its sessions with it. GA_NO_MEMORY: not all of them;
     * it is called again. */
    enum ga_status (*turns)(struct process_seat *seat);
    /* The channel closes: the process hears no more. May be called again. */
    void (*closing)(struct process_seat *seat);
    /* The process has died, or says that the application has ended: the seat is no more. */
    void (*ended)(struct process_seat *seat, const char *why);
};

struct process_seat {
    const struct process_seat_ops *ops;
    const char *client, *label; /* of its application, for the log: where it is; program and pid */
};

#endif
