/* Pinned memory through which bytes pass between socket and GPU: slots of WIRE_CHUNK bytes, leased
 * while bytes are in them. There is a fixed number, which is the cap on bytes in flight: whoever
 * finds none waits, or goes on in another way when none comes back (copy_overflow.h). The memory is
 * not touched before it is used, and made at the first lease. */
#ifndef SERVER_PIPELINE_STAGING_H
#define SERVER_PIPELINE_STAGING_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"
#include "server/driver/driver.h"
#include "transport/transport.h"

struct overflow_slot;

struct staging_slot {
    struct staging_slot *next; /* free ones */
    uint8_t *bytes;            /* WIRE_CHUNK, 16-aligned, pinned */
    unsigned leases;           /* under the lock; it is free when all are given back */
    struct overflow_slot *of;  /* a turn of that (copy_overflow.h); NULL: one of the fixed ones */
};

struct overflow {
    struct ga_list slots; /* struct overflow_slot */
    uint64_t most, used;  /* bytes */
    uint64_t serial;      /* of the last turn */
    unsigned turns;
};

/* How often something has changed, so that who finds no slot can tell whether anything goes on. */
struct staging_moves {
    uint64_t slots; /* leased or given back, of the fixed ones */
    uint64_t all;
};

struct staging {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    const struct cuda_driver *driver;
    struct staging_slot *slots; /* NULL: not made yet */
    unsigned count;
    struct staging_slot *free;
    struct staging_moves moves;
    struct overflow overflow;
    bool ended; /* nobody shall wait any more */
};

/* Pins `bytes` with flags of cuMemHostAlloc in the primary context of `device`, which stays
 * retained for the life of the process: pinned memory dies with the context that it was made in.
 * Leaves the current context as it was. */
CUresult staging_pin(const struct cuda_driver *driver, CUdevice device, size_t bytes,
                     unsigned flags, void **memory);

/* The same for memory that is there already; and that it is pinned no more. */
CUresult staging_register(const struct cuda_driver *driver, CUdevice device, void *memory,
                          size_t bytes);
CUresult staging_unregister(const struct cuda_driver *driver, CUdevice device, void *memory);

void staging_init(struct staging *staging, const struct cuda_driver *driver, uint64_t bytes,
                  uint64_t overflow_bytes);

/* Makes the slots with the primary context of `device`. Does nothing when they are there. */
CUresult staging_make(struct staging *staging, CUdevice device);

/* The same with memory that is not pinned: when the GPU has had a fault the driver gives none, but
 * bytes are still on their way here. */
CUresult staging_make_ordinary(struct staging *staging);

/* The memory of all slots; only after staging_make. */
void *staging_memory(const struct staging *staging, size_t *bytes);

/* Leases a slot. NULL: none is free, or all has ended. Only after staging_make. */
struct staging_slot *staging_try(struct staging *staging);
struct staging_moves staging_moves(struct staging *staging);
/* Waits until something has changed since `seen`, or the end. False: nothing has for so long. */
bool staging_wait(struct staging *staging, struct staging_moves seen, uint64_t timeout_ns);
/* One more lease of a slot that the caller has leased. */
void staging_share(struct staging *staging, struct staging_slot *slot);
/* How many leases there are. */
unsigned staging_leases(struct staging *staging, const struct staging_slot *slot);
void staging_give(struct staging *staging, struct staging_slot *slot);
/* Wakes whoever waits, streams as well, for ever. */
void staging_end(struct staging *staging);

#endif
