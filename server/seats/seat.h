/* SPDX-License-Identifier: Apache-2.0 */
/* The seat of an application in a backend process, as gpuaasd sees it.
 *
 * What a reader would get wrong: a seat outlives the application's use of it, until the process has
 * reported the end of the application, or has died. */
#ifndef SERVER_SEATS_SEAT_H
#define SERVER_SEATS_SEAT_H

#include <stdbool.h>

#include "server/channel.h"
#include "server/gpu_set.h"
#include "server/processes/backend_process.h"
#include "server/seats/reclaim.h"
#include "server/sharing/sharing_registry.h"
#include "server/tenants/lender.h"
#include "server/timers.h"
#include "server/usage/usage_seat.h"

struct claim;
struct control_application;
struct owner;
struct scheduler_terms;
struct seat;

/* The state that all seats share. */
struct seats_room {
    struct usage *usage;
    struct sharing sharing; /* what applications let each other use */
};

/* An application, as its seats know it. All is borrowed, and there as long as a seat of it is. */
struct seat_application {
    const uint8_t *id;           /* 16 bytes */
    const char *address, *label; /* for the log: where it is; program and pid */
    const char *program, *user;
    const char *host; /* of this node, as it has reached it */
    bool tls;         /* its data is encrypted */
    struct tenant *tenant;
    struct member *member;      /* NULL: no user is known */
    const struct owner *owner;  /* of what it sends */
    const struct limits *shown; /* what it is told of them */
    bool *counted;              /* of usage_seat.h */
};

/* Callbacks to the application that has the seat. */
struct seat_events {
    /* None of these after it has left.
     *
     * A packet about the application came: READY, SERVED, FAILED, IDLE. */
    void (*packet)(struct seat *seat, const union channel_packet *packet);
    /* There is room again in the process's channel, after seat_send has found none. */
    void (*room)(struct seat *seat);
    /* The application or the process has ended; `why` in words. */
    void (*ended)(struct seat *seat, const char *why);

    /* When the first session of its application has begun; 0: not yet. */
    uint64_t (*began_ns)(const struct seat *seat, uint64_t now);
    /* For the scheduler: whose its sessions are, and what is agreed on with that tenant. */
    uint64_t (*terms)(const struct seat *seat, struct scheduler_terms *terms);
    /* Why its application has been ended; "": it has not. */
    const char *(*reason)(const struct seat *seat);
    /* The seat is no more; `claimed`: it had claims. The last call. */
    void (*gone)(struct seat *seat, bool claimed);
};

struct seat {
    struct process_seat base; /* what its process knows of it */
    struct backend_process *process;
    uint32_t number; /* among the seats of the process */
    struct seats_room *room;
    const struct seat_events *events;
    struct control_application *application; /* of rooms above */
    struct seat_application of;              /* the same, as far as this room knows it */
    bool left;                               /* the application does not use it any more */
    bool untold; /* the channel was full: the process does not know yet that it comes, or leaves */
    bool prompt; /* its process was warm when it got it, so it is READY at once, or does not answer
                  */
    bool ready;
    uint64_t bound_ns;  /* the application has opened its first device; 0: not yet */
    uint64_t served_ns; /* its data and side connections have been opened; 0: not yet */
    bool answered;      /* the process has said so since it was last asked */
    unsigned silences;  /* looks since, in vain */
    char url[CHANNEL_TEXT_MAX + 16]; /* once it is ready */
    char local[CHANNEL_TEXT_MAX];    /* the same */
    uint32_t ways;                   /* the same */
    uint32_t tickets_sent;
    uint64_t gpus[GPU_SET_WORDS]; /* that it has opened */
    uint64_t
        claimed[GPU_SET_WORDS];     /* that it has tickets for, and has not opened yet (claims.h) */
    uint64_t voided[GPU_SET_WORDS]; /* of those: the process has been told to take them back */
    struct claim *claims;           /* by GPU; NULL: it has had no ticket yet */
    struct reclaim_asker reclaim;
    struct lender_seat lender;
    struct sharing_share share;
    struct usage_seat usage;
    /* Until it is ready: the limit; while its application is alone: when to ask the process again;
     * when it is left: until its end */
    struct server_timer timer;
};

void seats_room_init(struct seats_room *room, struct usage *usage);

/* Gives the application a seat in the process, which has one free: it must be READY within
 * timeout_s, one of a warm process within 3 s. GA_LOST: the process is dying, and `gone` is called
 * when it has died. GA_NO_MEMORY: there is no seat. */
GA_CHECKED enum ga_status seat_take(struct seats_room *room, struct backend_process *process,
                                    struct control_application *application,
                                    const struct seat_application *of, unsigned timeout_s,
                                    const struct seat_events *events, struct seat **out);
/* Sends a packet to the process. GA_AGAIN: the channel is full; `room` is called when it is not.
 * GA_LOST: the process is dying. */
GA_CHECKED enum ga_status seat_send(struct seat *seat, const void *packet, size_t size);
/* Since when its application has a session there: as the process says, or, since that may have been
 * taken over, when a ticket of its beginning cannot be used any more. 0: it has none yet. */
uint64_t seat_began_ns(const struct seat *seat, uint64_t now);
/* As seat_send, for packets that nobody sends again: they wait for room. Any status but GA_OK: the
 * process is dying, or reads nothing, or has not heard of the application yet. */
GA_CHECKED enum ga_status seat_tell(struct seat *seat, const void *packet, size_t size);
/* Its application has no control connection any more, but is served: from now on the process is
 * asked every 3 s whether it still is, and killed if it does not answer within some 10 s. */
void seat_watch(struct seat *seat);
/* Its application has a control connection again. */
void seat_watch_end(struct seat *seat);
/* The application uses it no more, and must end. No more callbacks. */
void seat_leave(struct seat *seat);

/* Both times, as its room has them (server/timers.h). */
uint64_t seat_now(const struct seat *seat);
uint64_t seat_awake(const struct seat *seat);

/* The one of this number in a process; NULL: it is free. */
struct seat *seat_in(const struct backend_process *process, unsigned number);

#endif
