/* SPDX-License-Identifier: Apache-2.0 */
/* gpuaasd lends backend processes what the tenant of their application may have (lending.h), and
 * keeps the books: a process that dies gives all of it back, once.
 *
 * Where the room is not enough, what the tenant's other seats do not use is recalled, and the seat
 * that has asked waits until all of them have answered. A refusal therefore means that the request
 * exceeds the uncharged rest. A process that does not answer a recall in time counts as one that
 * uses all it has.
 *
 * Note: a seat that its application has left still has its share, until the process has reported
 * the end of the application, or has died. */
#ifndef SERVER_TENANTS_LENDER_H
#define SERVER_TENANTS_LENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "server/channel.h"
#include "server/figures.h"
#include "server/tenants/lending.h"

struct lender_seat;
struct member;
struct tenant;

struct lender_seat_ops {
    /* Sends a packet to its process. False: there is no room in the channel (lender_seat_room is
     * called when there is), or nobody hears it: the process does not know of the seat yet, or not
     * any more, or is dying. */
    bool (*send)(struct lender_seat *seat, const void *packet, size_t size);
    /* An answer, which is sent at once or when there is room, with a descriptor (-1: none). False:
     * the process is dying, or reads nothing. */
    bool (*tell)(struct lender_seat *seat, const struct channel_request *answer, int fd);
};

/* The lender's part of a seat. Rooms above have the whole seat (server/seats/seat.h), and fill in
 * the members before `link` before it begins. */
struct lender_seat {
    const struct lender_seat_ops *ops;
    struct tenant *tenant;
    struct member *member; /* NULL: no user is known */
    uint32_t number;       /* among the seats of its process */
    /* Figures that its process writes: a stranger's. */
    const struct figures *figures;
    const struct figures_memory *memory; /* by GPU */
    const char *client, *label;          /* for the log: where its program is; its name and pid */
    struct ga_list link;                 /* of the tenant's */
    struct lending_share share;
    struct channel_request wanted; /* what it waits for; kind 0: nothing */
    uint32_t turn;                 /* a seat that asks gets the next one; of `wanted` */
    uint64_t until_ns;             /* the same */
    uint32_t told, answered;       /* turns of the last recall, and of the last that was answered */
    uint32_t recall;               /* the turn that is to be told when `told` is answered */
    uint32_t boundless;            /* of the kinds that were lent in such pieces at the beginning */
    bool limits_untold;            /* the channel was full */
    bool shares;                   /* its process has been passed the tenant's memory */
    bool offered;                  /* see lender_offer */
    uint64_t moved;                /* bytes, messages and waits when it was last looked at */
    struct figures_memory *taken;  /* of each GPU: see lender_take_over */
};

/* The lender of a tenant. */
struct lender {
    struct lending_account account;
    struct ga_list seats; /* struct lender_seat */
    uint32_t turn;        /* the last one */
    uint64_t refusals[LIMIT_COUNT];
    uint32_t movers; /* seats that have moved anything lately, or wait until they may: they divide
                      * the rates; at least 1 */
    uint64_t movers_ns;            /* when that was looked at */
    struct figures_tenant *shared; /* memory of all processes; NULL: nobody has needed it yet */
    int shared_fd;
};

GA_CHECKED enum ga_status lender_init(struct lender *lender, uint32_t gpu_count);
void lender_fini(struct lender *lender);
/* For lender_fini. */
void lender_shared_fini(struct lender *lender);
/* A seat of the tenant begins. GA_NO_MEMORY. */
GA_CHECKED enum ga_status lender_seat_begin(struct lender_seat *seat);
/* A ticket for the GPU has been told: lends what a session there takes first (of device memory
 * `bytes`, and more), so that its process need not ask. Only the first time, and only where that is
 * a small part of what may be lent. To the process it is an answer (number 0) that comes too late
 * for whoever has asked. */
void lender_offer(struct lender_seat *seat, uint32_t gpu, uint64_t bytes);
/* Fills the first packet of a seat: its limits, and the amounts that it has been lent. */
void lender_tell(const struct lender_seat *seat, struct channel_application *packet);
/* Its process, or its application, is no more. Any number of times. */
void lender_seat_end(struct lender_seat *seat);
/* There is room in its channel again. */
void lender_seat_room(struct lender_seat *seat);
/* The tenant's limits have changed. */
void lender_limits(struct tenant *tenant);

/* Whether a packet of a backend process is of that kind. */
bool lender_is(const struct channel_request *packet);
/* Takes one; what it answers, it sends. */
void lender_take(struct lender_seat *seat, const struct channel_request *packet);

/* The charges have changed, but not by a process that says so itself (struct figures_tenant). */
void lender_changed(struct lender *lender);
/* Writes into the answer (CHANNEL_ROOM) what the limits leave for this seat of a GPU, beside the
 * tenant's others. */
void lender_room(const struct lender_seat *seat, struct channel_request *answer);
/* Passes the tenant's memory with an answer, if the process has a use for it and has not got it:
 * the descriptor to send (-1: none), which stays the lender's. */
int lender_share(struct lender_seat *seat, struct channel_request *answer);

/* The sum that the backend processes of a tenant, or of one of its users (NULL: of all), say that
 * they have charged, and have taken over. `gpu` UINT32_MAX: of all. */
uint64_t lender_charged(const struct tenant *tenant, const struct member *member,
                        enum channel_lent kind, uint32_t gpu);

/* As lender_charged, of this seat. */
uint64_t lender_charged_of(const struct lender_seat *seat, enum channel_lent kind, uint32_t gpu);

/* Memory that another application has made is charged to this one, whatever the limits say; and no
 * more. */
void lender_take_over(struct lender_seat *seat, uint32_t gpu, uint64_t bytes);
void lender_give_up(struct lender_seat *seat, uint32_t gpu, uint64_t bytes);
/* Memory that this one has made, freed, and not returned, is charged to another one. */
void lender_pass_on(struct lender_seat *seat, uint32_t gpu, uint64_t bytes);
/* The memory that the seat has taken over: none of it is in the figures of its process. (Its peak
 * is that of all the application's memory when it took something over.) Never NULL. */
const struct figures_memory *lender_taken(const struct lender_seat *seat, uint32_t gpu);
/* Bytes of it now; UINT32_MAX: on all GPUs. */
uint64_t lender_taken_bytes(const struct lender_seat *seat, uint32_t gpu);

/* Looks after seats that wait, so that none waits for ever. Returns whether any still does. */
bool lender_turn(struct tenant *tenant, uint64_t now);
/* Divides the limits in a second among the seats that use them. Returns whether the tenant has such
 * limits. */
bool lender_divide(struct tenant *tenant, uint64_t now);

/* As the table of tenants has it. */
uint64_t lender_now(const struct tenant *tenant);

/* Whether none of them says that it has charged more than it was lent, of any kind, and the shares
 * add up. (A process is lent before it can charge, and returns after it has.) */
bool lender_balances(const struct tenant *tenant);

#endif
