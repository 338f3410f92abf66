/* SPDX-License-Identifier: Apache-2.0 */
/* Staging slots: pinned memory through which bytes pass between socket and GPU. A slot has
 * WIRE_CHUNK bytes, and is leased while bytes are in it. Their fixed number limits the bytes in
 * flight: a copy that finds none free waits, or uses copy_overflow.h when none comes back. The
 * memory is made at the first lease, and not touched before it is used. */
#ifndef SERVER_PIPELINE_STAGING_H
#define SERVER_PIPELINE_STAGING_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"
#include "server/charge/ledger.h"
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

/* Counts of changes, by which a copy that finds no slot can tell whether any work goes on. */
struct staging_moves {
    uint64_t slots; /* leased or given back, of the fixed ones */
    uint64_t all;
};

struct staging {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    const struct cuda_driver *driver;
    struct ledger *ledger;
    struct staging_slot *slots; /* NULL: not made yet */
    CUdevice device;            /* in whose primary context their memory is pinned */
    bool ordinary;              /* it is not pinned */
    unsigned count;
    struct staging_slot *free;
    struct staging_moves moves;
    struct overflow overflow;
    bool ended; /* no thread may wait any more */
};

/* Pins `bytes` with flags of cuMemHostAlloc in the primary context of `device`, which stays
 * retained as long: pinned memory dies with the context that it was made in. They are charged to
 * the ledger as host memory, and the context is (primary.h). Leaves the current context as it was.
 */
CUresult staging_pin(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device,
                     size_t bytes, unsigned flags, void **memory);
/* Gives up what staging_pin has made. Memory that the driver does not free stays charged. */
void staging_unpin(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device,
                   size_t bytes, void *memory);

/* Pins existing memory, whose charge is the caller's; and unpins it, which may wait for work. Then
 * the primary context of `device` is no more retained for it. Any thread may unpin. */
CUresult staging_register(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device,
                          void *memory, size_t bytes);
CUresult staging_unregister(const struct cuda_driver *driver, CUdevice device, void *memory);
void staging_unregistered(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device);

void staging_init(struct staging *staging, const struct cuda_driver *driver, struct ledger *ledger,
                  uint64_t bytes, uint64_t overflow_bytes);

/* Makes the slots with the primary context of `device`. Does nothing when they are there. */
CUresult staging_make(struct staging *staging, CUdevice device);

/* Makes the slots with memory that is not pinned: after an execution fault the driver gives none,
 * but bytes of the client are still under way. */
CUresult staging_make_ordinary(struct staging *staging);

/* The memory of all slots; only after staging_make. */
void *staging_memory(const struct staging *staging, size_t *bytes);

/* Leases a slot. NULL: none is free, or all has ended. Only after staging_make. */
struct staging_slot *staging_try(struct staging *staging);
struct staging_moves staging_moves(struct staging *staging);
/* Waits until something has changed since `seen`, or until the end. False: not within the timeout.
 */
bool staging_wait(struct staging *staging, struct staging_moves seen, uint64_t timeout_ns);
/* Adds a lease to a slot that the caller has leased. */
void staging_share(struct staging *staging, struct staging_slot *slot);
/* How many leases there are. */
unsigned staging_leases(struct staging *staging, const struct staging_slot *slot);
void staging_give(struct staging *staging, struct staging_slot *slot);
/* Wakes all threads and streams that wait, now and from now on. */
void staging_end(struct staging *staging);
/* Gives all memory back, after the end: no copy uses it any more. Other threads may still call
 * staging_end, until staging_fini. */
void staging_clear(struct staging *staging);
void staging_fini(struct staging *staging);

#endif
