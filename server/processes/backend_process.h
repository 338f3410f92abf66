/* SPDX-License-Identifier: Apache-2.0 */
/* Backend processes as gpuaasd sees them: starting, requests, ending, reaping. Applications have
 * seats in them (process_seat.h).
 *
 * A process ends when its channel is closed; one that does not is killed. Note: a struct
 * backend_process outlives backend_process_end; it is freed by itself when the kernel has reported
 * the death and libuv has let go of its handles. */
#ifndef SERVER_PROCESSES_BACKEND_PROCESS_H
#define SERVER_PROCESSES_BACKEND_PROCESS_H

#include <stdbool.h>
#include <uv.h>

#include "base/list.h"
#include "server/channel.h"
#include "server/channel_queue.h"
#include "server/figures.h"
#include "server/processes/backend_ends.h"
#include "server/processes/backend_log.h"
#include "server/processes/process_seat.h"

struct backend_process;
struct processes;
struct scheduler_process;

/* Callbacks to the owner of a process that no application has: a spare, or a probe. `owner` may be
 * cleared at any time to end them. */
struct backend_process_events {
    /* A packet came. */
    void (*packet)(struct backend_process *process, const union channel_packet *packet);
    /* The process has ended; `why` in words ("exit status 1", "killed by signal 9"). Called once,
     * and not after the owner was cleared. */
    void (*ended)(struct backend_process *process, const char *why);
};

struct backend_process {
    struct ga_list link;
    struct processes *room;
    const struct backend_process_events *events;
    void *owner; /* NULL: no callbacks */
    enum conf_driver driver;
    struct process_seat *seats[CHANNEL_SEATS]; /* NULL: free */
    uint32_t seat_limit;                       /* applications at once */
    bool outlives;                             /* it goes on when its applications have ended */
    uint64_t number; /* unique in this gpuaasd; clients see it in tickets */
    uint64_t started_ns;
    bool warm; /* its driver is open */
    bool ending;
    bool forbidden; /* it has made a system call that its sandbox does not allow */
    const struct figures_page *figures; /* which the process writes: a stranger's */
    struct backend_ends ends;           /* ours: that memory, and, until `turns`, what is for it */
    struct scheduler_process *turns;    /* NULL: its sessions need no turns */
    bool turns_untold;                  /* it does not know yet that it takes turns */
    uint64_t
        trim_ns; /* when it was asked to return memory, if it has not yet; 0: no such request */
    int fd;      /* our end of the channel; -1: closed */
    struct channel_queue queue; /* what waits for room in it */
    bool deaf;                  /* so much waited that some was lost */
    uv_process_t child;
    uv_poll_t poll;
    struct server_timer timer; /* until warm: the limit; when ending: until it is killed */
    struct backend_log log;
    unsigned handles;               /* of libuv, still open */
    char why[2 * CHANNEL_TEXT_MAX]; /* cause of its failure as it has told; empty: none told */
};

/* Starts a backend process with the environment `env` (NULL-ended) and sends it `setup`. GA_LOST
 * with `why` when it cannot be started. It must be WARM or have exited within timeout_s. */
GA_CHECKED enum ga_status
backend_process_start(struct processes *room, const struct channel_setup *setup, char *const *env,
                      unsigned timeout_s, const struct backend_process_events *events, void *owner,
                      struct backend_process **out, char *why, size_t why_size);

/* How many seats applications have in it; and the number of a free one, CHANNEL_SEATS: none is. */
unsigned backend_process_seats(const struct backend_process *process);
uint32_t backend_process_seat_free(const struct backend_process *process);
/* A process of this driver that has served applications and takes another; NULL: there is none. */
struct backend_process *backend_process_with_room(const struct processes *room,
                                                  enum conf_driver driver);

/* Sends a packet. GA_AGAIN: the channel is full; the seats are told when it is not. GA_LOST: the
 * process is dying. For what the caller says again then. */
GA_CHECKED enum ga_status backend_process_send(struct backend_process *process, const void *packet,
                                               size_t size);
/* Sends a packet, at once or when there is room, with the descriptor `passed` (-1: none), which
 * stays the caller's. For all else: answers, requests, notices. Any other status: it will not be
 * sent, because the process is dying, or reads nothing. A process asks one question at a time, so
 * one that is ours never has so much waiting. */
GA_CHECKED enum ga_status backend_process_tell(struct backend_process *process, const void *packet,
                                               size_t size, int passed);

/* Takes what it has said and nobody has read yet. */
void backend_process_hear(struct backend_process *process);
/* Asks the process to end, by closing its channel, and kills it if it does not within 2 s. May be
 * repeated. No more callbacks. */
void backend_process_end(struct backend_process *process);
/* Kills it: it does not do what it must. Its end is reported as any other. */
void backend_process_kill(struct backend_process *process);
#endif
