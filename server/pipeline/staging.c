/* SPDX-License-Identifier: Apache-2.0 */
/* The pinned slots of a backend process. */
#include "server/pipeline/staging.h"

#include <stdlib.h>

#include "api/wire.h"
#include "base/failpoint.h"
#include "base/wait.h"
#include "server/charge/primary.h"
#include "server/pipeline/copy_overflow.h"

#define STAGING_MIN 4u /* slots; fewer would make each copy wait for the one before */

void staging_init(struct staging *staging, const struct cuda_driver *driver, struct ledger *ledger,
                  uint64_t bytes, uint64_t overflow_bytes)
{
    *staging = (struct staging){
        .driver = driver, .ledger = ledger, .count = (unsigned)(bytes / WIRE_CHUNK)};
    if (staging->count < STAGING_MIN) {
        staging->count = STAGING_MIN;
    }
    pthread_mutex_init(&staging->lock, NULL);
    ga_cond_init(&staging->given_back);
    overflow_init(&staging->overflow, overflow_bytes);
}

/* Makes the primary context current. It is retained once more when that succeeds. */
static CUresult primary_enter(const struct cuda_driver *driver, CUdevice device, CUcontext *before)
{
    CUcontext primary;
    CU_TRY(driver->cuDevicePrimaryCtxRetain(&primary, device));
    CUresult rc = driver->cuCtxGetCurrent(before);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuCtxSetCurrent(primary);
    }
    if (rc != CUDA_SUCCESS) {
        (void)driver->cuDevicePrimaryCtxRelease_v2(device);
    }
    return rc;
}

/* `keep`: it stays retained. */
static void primary_leave(const struct cuda_driver *driver, CUdevice device, CUcontext before,
                          bool keep)
{
    (void)driver->cuCtxSetCurrent(before);
    if (!keep) {
        (void)driver->cuDevicePrimaryCtxRelease_v2(device);
    }
}

/* Makes it current, and holds it: charged, if it is not. */
static CUresult primary_begin(const struct cuda_driver *driver, struct ledger *ledger,
                              CUdevice device, CUcontext *before)
{
    CU_TRY(primary_hold(ledger, device));
    CUresult rc = primary_enter(driver, device, before);
    if (rc != CUDA_SUCCESS) {
        primary_drop(ledger, device);
    }
    return rc;
}

/* `rc`: of pinning memory, for which it stays held. Gives that back. */
static CUresult primary_finish(const struct cuda_driver *driver, struct ledger *ledger,
                               CUdevice device, CUcontext before, CUresult rc)
{
    primary_leave(driver, device, before, rc == CUDA_SUCCESS);
    if (rc != CUDA_SUCCESS) {
        primary_drop(ledger, device);
    }
    return rc;
}

/* As it was before it was kept for memory that is no more pinned. */
static void primary_release(const struct cuda_driver *driver, struct ledger *ledger,
                            CUdevice device)
{
    (void)driver->cuDevicePrimaryCtxRelease_v2(device);
    primary_drop(ledger, device);
}

CUresult staging_pin(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device,
                     size_t bytes, unsigned flags, void **memory)
{
    CUcontext before;
    CU_TRY(ledger_charge_pinned(ledger, bytes));
    CUresult rc = primary_begin(driver, ledger, device, &before);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuMemHostAlloc(memory, bytes, flags);
        rc = primary_finish(driver, ledger, device, before, rc);
    }
    if (rc != CUDA_SUCCESS) {
        ledger_return_pinned(ledger, bytes);
    }
    return rc;
}

void staging_unpin(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device,
                   size_t bytes, void *memory)
{
    CUcontext before;
    if (primary_enter(driver, device, &before) == CUDA_SUCCESS) {
        bool freed = driver->cuMemFreeHost(memory) == CUDA_SUCCESS;
        primary_leave(driver, device, before, false);
        if (freed) {
            ledger_return_pinned(ledger, bytes);
            primary_release(driver, ledger, device);
        }
    }
}

CUresult staging_register(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device,
                          void *memory, size_t bytes)
{
    CUcontext before;
    CU_TRY(primary_begin(driver, ledger, device, &before));
    CUresult rc = driver->cuMemHostRegister_v2(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    return primary_finish(driver, ledger, device, before, rc);
}

CUresult staging_unregister(const struct cuda_driver *driver, CUdevice device, void *memory)
{
    CUcontext before;
    CUresult rc = primary_enter(driver, device, &before);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuMemHostUnregister(memory);
        primary_leave(driver, device, before, false);
    }
    return rc;
}

void staging_unregistered(const struct cuda_driver *driver, struct ledger *ledger, CUdevice device)
{
    primary_release(driver, ledger, device);
}

static CUresult ordinary_make(struct ledger *ledger, size_t bytes, void **memory)
{
    CU_TRY(ledger_charge(ledger, FIGURE_HOST_BYTES, bytes));
    *memory = malloc(bytes);
    if (*memory == NULL) {
        ledger_return(ledger, FIGURE_HOST_BYTES, bytes);
    }
    return *memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* `ordinary`: not pinned. */
static CUresult staging_slots_make(struct staging *staging, CUdevice device, bool ordinary)
{
    size_t bytes = (size_t)staging->count * WIRE_CHUNK;
    struct staging_slot *slots = calloc(staging->count, sizeof *slots);
    if (slots == NULL || GA_FAILPOINT("backend: pinned memory")) {
        free(slots);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void *memory = NULL;
    CUresult rc = ordinary ? ordinary_make(staging->ledger, bytes, &memory)
                           : staging_pin(staging->driver, staging->ledger, device, bytes,
                                         CU_MEMHOSTALLOC_PORTABLE, &memory);
    if (rc != CUDA_SUCCESS) {
        free(slots);
        return rc;
    }
    pthread_mutex_lock(&staging->lock);
    staging->slots = slots;
    staging->device = device;
    staging->ordinary = ordinary;
    for (unsigned i = staging->count; i-- > 0;) {
        slots[i].bytes = (uint8_t *)memory + (size_t)i * WIRE_CHUNK;
        slots[i].next = staging->free;
        staging->free = &slots[i];
    }
    pthread_mutex_unlock(&staging->lock);
    return CUDA_SUCCESS;
}

CUresult staging_make(struct staging *staging, CUdevice device)
{
    return staging->slots != NULL ? CUDA_SUCCESS : staging_slots_make(staging, device, false);
}

CUresult staging_make_ordinary(struct staging *staging)
{
    return staging->slots != NULL ? CUDA_SUCCESS : staging_slots_make(staging, 0, true);
}

void *staging_memory(const struct staging *staging, size_t *bytes)
{
    *bytes = (size_t)staging->count * WIRE_CHUNK;
    return staging->slots[0].bytes;
}

/* Here a slot gets its next lessee. All slots are of one connection, so of one application, and
 * need no scrubbing: what is left in one is the application's own. (Nothing leaves through a slot
 * but what its lessee has put there: a piece is sent if its copy has succeeded, with its padding
 * zeroed.) */
static struct staging_slot *slot_pop(struct staging *staging)
{
    struct staging_slot *slot = staging->free;
    if (slot != NULL) {
        staging->free = slot->next;
        slot->leases = 1;
        staging->moves.slots++;
        staging->moves.all++;
    }
    return slot;
}

struct staging_slot *staging_try(struct staging *staging)
{
    pthread_mutex_lock(&staging->lock);
    struct staging_slot *slot = staging->ended ? NULL : slot_pop(staging);
    pthread_mutex_unlock(&staging->lock);
    return slot;
}

struct staging_moves staging_moves(struct staging *staging)
{
    pthread_mutex_lock(&staging->lock);
    struct staging_moves moves = staging->moves;
    pthread_mutex_unlock(&staging->lock);
    return moves;
}

bool staging_wait(struct staging *staging, struct staging_moves seen, uint64_t timeout_ns)
{
    uint64_t until = ga_clock_ns() + timeout_ns;
    bool late = false;
    pthread_mutex_lock(&staging->lock);
    while (staging->moves.all == seen.all && !staging->ended && !late) {
        late = !ga_cond_wait_until(&staging->given_back, &staging->lock, until);
    }
    bool moved = staging->moves.all != seen.all || staging->ended;
    pthread_mutex_unlock(&staging->lock);
    return moved;
}

void staging_share(struct staging *staging, struct staging_slot *slot)
{
    pthread_mutex_lock(&staging->lock);
    slot->leases++;
    pthread_mutex_unlock(&staging->lock);
}

unsigned staging_leases(struct staging *staging, const struct staging_slot *slot)
{
    pthread_mutex_lock(&staging->lock);
    unsigned leases = slot->leases;
    pthread_mutex_unlock(&staging->lock);
    return leases;
}

void staging_give(struct staging *staging, struct staging_slot *slot)
{
    pthread_mutex_lock(&staging->lock);
    if (--slot->leases == 0) {
        if (slot->of != NULL) {
            overflow_given(staging, slot);
        } else {
            staging->moves.slots++;
            slot->next = staging->free;
            staging->free = slot;
        }
        staging->moves.all++;
        pthread_cond_signal(&staging->given_back);
    }
    pthread_mutex_unlock(&staging->lock);
}

void staging_end(struct staging *staging)
{
    pthread_mutex_lock(&staging->lock);
    staging->ended = true;
    overflow_end(&staging->overflow);
    pthread_cond_broadcast(&staging->given_back);
    pthread_mutex_unlock(&staging->lock);
}

static void staging_slots_free(struct staging *staging)
{
    size_t bytes = (size_t)staging->count * WIRE_CHUNK;
    if (staging->ordinary) {
        free(staging->slots[0].bytes);
        ledger_return(staging->ledger, FIGURE_HOST_BYTES, bytes);
    } else {
        staging_unpin(staging->driver, staging->ledger, staging->device, bytes,
                      staging->slots[0].bytes);
    }
    free(staging->slots);
    staging->slots = NULL;
}

void staging_clear(struct staging *staging)
{
    overflow_clear(staging);
    if (staging->slots != NULL) {
        staging_slots_free(staging);
    }
}

void staging_fini(struct staging *staging)
{
    pthread_cond_destroy(&staging->given_back);
    pthread_mutex_destroy(&staging->lock);
}
