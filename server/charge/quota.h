/* SPDX-License-Identifier: Apache-2.0 */
/* The amounts that an application may still take within the limits of its tenant. gpuaasd lends it
 * in pieces (tenants/lender.h); taking is local as long as a piece lasts, and any thread may take
 * and give. Where a tenant has no limit, a piece lasts for ever.
 *
 * Note: a quota does not know what has been taken. The spare amount here and the charged amount in
 * the figures are together what gpuaasd has lent; it alone keeps the sum. */
#ifndef SERVER_CHARGE_QUOTA_H
#define SERVER_CHARGE_QUOTA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/cuda_names.h"
#include "server/channel.h"

struct figures_tenant;

#define QUOTA_ROOMS 16u /* GPUs whose room is remembered */

/* The room on a GPU that gpuaasd has announced (CHANNEL_ROOM). */
struct quota_told {
    bool holds;
    uint32_t gpu;
    uint64_t others; /* changes by others when it was found */
    uint64_t all, here;
};

/* The functions of its process that a quota calls. */
struct quota_host {
    void *user;
    /* Sends a request to gpuaasd and waits for the answer, which `*packet` becomes. With LEND it
     * calls quota_asks just before it sends, and quota_answered when the answer has come, before
     * any recall that comes behind it. GA_TIMEOUT: the answer may still come. */
    enum ga_status (*ask)(void *user, struct channel_request *packet);
    /* Sends one that has no answer: at once, or when there is room, in their order. */
    void (*tell)(void *user, const struct channel_request *packet);
};

struct quota {
    struct quota_host host;
    char tenant[CHANNEL_TENANT_MAX], user[CHANNEL_TENANT_MAX];
    _Atomic uint32_t own; /* bit n: the limit n is the user's, not the tenant's */
    uint32_t gpu_count;   /* of whose memory anything is lent */
    struct limits shown;  /* as they were at the beginning: what a program is told */
    _Atomic uint64_t limits[LIMIT_COUNT];       /* as they are */
    _Atomic uint32_t turn;                      /* another one when they have changed */
    _Atomic uint64_t spare[CHANNEL_LENT_KINDS]; /* but of device memory: */
    _Atomic uint64_t spare_on[CONF_GPUS_MAX];   /* by the index in the list that clients see */
    /* Each time that the limits of a kind change; and what of that gpuaasd has lent under. The
     * spare amount may be taken if they are the same: it may be more than the limits allow else. */
    _Atomic uint32_t change[CHANNEL_LENT_KINDS];
    _Atomic uint32_t lent_under[CHANNEL_LENT_KINDS], lent_under_on[CONF_GPUS_MAX];
    /* Tells the program; NULL: nobody listens. */
    void (*_Atomic note)(void *user, const char *text);
    void *note_user;
    _Atomic uint64_t noted_ns[LIMIT_COUNT]; /* when; 0: never */
    _Atomic uint32_t unnoted[LIMIT_COUNT];  /* refusals since */
    /* Members of quota_room.c. */
    pthread_mutex_t room_lock;
    struct figures_tenant *_Atomic shared; /* NULL: gpuaasd has not passed it yet */
    atomic_bool unshared;                  /* it has, and this process could not take it */
    atomic_bool uncounted;                 /* there was a change before it had */
    uint64_t own_changes;                  /* of those that are counted there */
    struct quota_told rooms[QUOTA_ROOMS];
};

/* That of an application which begins; `told` by gpuaasd. */
void quota_init(struct quota *quota, const struct channel_application *told,
                const struct quota_host *host);
/* For quota_init. */
void quota_room_init(struct quota *quota);
void quota_fini(struct quota *quota);
/* Sets the function that tells the program, from now on; NULL: none. Not while any thread takes.
 * `quota` may be NULL. */
void quota_listen(struct quota *quota, void (*note)(void *user, const char *text), void *user);
/* The limits have changed; `own` as in channel_application. */
void quota_limit(struct quota *quota, const struct limits *limits, uint32_t own);
/* One of them, as it is now. */
static inline uint64_t quota_limit_of(const struct quota *quota, enum limit limit)
{
    return atomic_load_explicit(&quota->limits[limit], memory_order_relaxed);
}

static inline uint32_t quota_turn(const struct quota *quota)
{
    return atomic_load_explicit(&quota->turn, memory_order_acquire);
}

/* Takes; asks gpuaasd where too little is spare. CUDA_ERROR_OUT_OF_MEMORY: the tenant may have no
 * more, which the program has been told; or gpuaasd does not answer. Not in the main thread. */
CUresult quota_take(struct quota *quota, enum channel_lent kind, uint32_t gpu, uint64_t amount);
/* Gives back what was taken. */
void quota_give(struct quota *quota, enum channel_lent kind, uint32_t gpu, uint64_t amount);
/* A LEND is sent now: all that is spare of its kind goes back with it. Any thread. */
void quota_asks(struct quota *quota, struct channel_request *packet);
/* Its answer has come: what is lent beyond `wanted` is spare from now on. `wanted` 0: the asking
 * thread has given up. The same. */
void quota_answered(struct quota *quota, const struct channel_request *packet, uint64_t wanted);
/* gpuaasd wants back what is spare of some kinds. The packet is the answer. */
void quota_recall(struct quota *quota, const struct channel_request *packet);
/* An answer of gpuaasd brings memory of the tenant (`brought`), with a descriptor that is the
 * quota's from now on; -1: it has been lost. */
void quota_share(struct quota *quota, bool brought, int fd);
/* gpuaasd tells the room on a GPU, asked or not. */
void quota_tell_room(struct quota *quota, const struct channel_request *packet);
/* Device memory has been charged, or is charged no more, as the figures say already. Any thread. */
void quota_changed(struct quota *quota);
/* How much of this GPU's memory may be taken now, where the application has `own` bytes of device
 * memory, and `here` of them on this GPU; LIMIT_NONE: no limit. Asks gpuaasd only if others of the
 * tenant have changed what they have, or the limits have changed. CUDA_ERROR_SYSTEM_NOT_READY: it
 * does not answer, which the program has been told. */
CUresult quota_room(struct quota *quota, uint32_t gpu, uint64_t own, uint64_t here, uint64_t *room);

/* "tenant T" or "user U of tenant T": whose the limit is. */
#define QUOTA_WHOSE_BYTES (2 * CHANNEL_TENANT_MAX + 20)
void quota_whose(const struct quota *quota, enum limit limit, char whose[QUOTA_WHOSE_BYTES]);
/* Tells the program, and the log, that gpuaasd does not answer. */
void quota_silence_note(struct quota *quota);
/* Tells the program, and the log, which limit it has met, and what follows; at most once a second
 * for each limit. */
void quota_note(struct quota *quota, enum limit limit, const char *text);

#endif
