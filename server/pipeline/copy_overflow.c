/* SPDX-License-Identifier: Apache-2.0 */
/* Slots that streams use in turns. */
#include "server/pipeline/copy_overflow.h"

#include <stdlib.h>
#include <string.h>

#include "api/wire.h"

#define BLOCK_BYTES (OVERFLOW_BYTES + 64u) /* a slot and its word */

void overflow_init(struct overflow *overflow, uint64_t most)
{
    *overflow = (struct overflow){.most = most};
    ga_list_init(&overflow->slots);
}

static struct overflow_turn *turn_of(struct staging_slot *slot)
{
    return ga_container(slot, struct overflow_turn, base);
}

static struct overflow_turn *turn_at(struct ga_list *at)
{
    return ga_container(at, struct overflow_turn, link);
}

/* ---- the end of a turn, and the beginning of the next one */

static void bytes_free(struct staging *staging, struct overflow_bytes *bytes)
{
    staging->overflow.used -= bytes->bytes;
    ledger_return(staging->ledger, FIGURE_HOST_BYTES, bytes->bytes);
    free(bytes);
}

/* Its bytes are put in; the lock is given up meanwhile, and more may come. After the end they are
 * nobody's, and streams that no longer wait may read the slot. */
static void turn_begin(struct staging *staging, struct overflow_turn *turn)
{
    struct overflow_slot *slot = turn->base.of;
    slot->filling = true;
    while (!ga_list_empty(&turn->bytes)) {
        struct overflow_bytes *bytes = ga_container(turn->bytes.next, struct overflow_bytes, link);
        ga_list_remove(&bytes->link);
        if (!staging->ended) {
            pthread_mutex_unlock(&staging->lock);
            memcpy(bytes->to, bytes->data, bytes->bytes);
            pthread_mutex_lock(&staging->lock);
        }
        bytes_free(staging, bytes);
    }
    slot->filling = false;
    turn->begun = true;
    __atomic_store_n(slot->word, staging->ended ? slot->number : turn->number, __ATOMIC_RELEASE);
}

void overflow_given(struct staging *staging, struct staging_slot *given)
{
    struct overflow_turn *turn = turn_of(given);
    struct overflow_slot *slot = given->of;
    while (turn->begun && turn->base.leases == 0) {
        ga_list_remove(&turn->link);
        free(turn);
        slot->turn_count--;
        staging->overflow.turns--;
        if (ga_list_empty(&slot->turns)) {
            slot->lane = 0;
            return;
        }
        turn = turn_at(slot->turns.next);
        turn_begin(staging, turn);
    }
}

void overflow_end(struct overflow *overflow)
{
    ga_list_each (at, next, &overflow->slots) {
        struct overflow_slot *slot = ga_container(at, struct overflow_slot, link);
        if (!slot->filling) { /* else turn_begin writes it */
            __atomic_store_n(slot->word, slot->number, __ATOMIC_RELEASE);
        }
    }
}

static void turns_free(struct staging *staging, struct overflow_slot *slot)
{
    ga_list_each (at, next, &slot->turns) {
        struct overflow_turn *turn = turn_at(at);
        ga_list_each (of, after, &turn->bytes) {
            struct overflow_bytes *bytes = ga_container(of, struct overflow_bytes, link);
            ga_list_remove(&bytes->link);
            bytes_free(staging, bytes);
        }
        ga_list_remove(&turn->link);
        free(turn);
    }
}

/* Any of them, which overflow_end does not find any more. NULL: there are none. */
static struct overflow_slot *slot_take(struct staging *staging)
{
    struct ga_list *slots = &staging->overflow.slots;
    struct overflow_slot *slot = NULL;
    pthread_mutex_lock(&staging->lock);
    if (!ga_list_empty(slots)) {
        slot = ga_container(slots->next, struct overflow_slot, link);
        ga_list_remove(&slot->link);
    }
    pthread_mutex_unlock(&staging->lock);
    return slot;
}

void overflow_clear(struct staging *staging)
{
    struct overflow_slot *slot;
    while ((slot = slot_take(staging)) != NULL) {
        turns_free(staging, slot);
        staging_unpin(staging->driver, staging->ledger, slot->device, BLOCK_BYTES, slot->memory);
        free(slot);
    }
}

/* ---- room */

bool overflow_has(struct staging *staging, uint64_t lane)
{
    bool has = false;
    pthread_mutex_lock(&staging->lock);
    ga_list_each (at, next, &staging->overflow.slots) {
        has = has || ga_container(at, struct overflow_slot, link)->lane == lane;
    }
    pthread_mutex_unlock(&staging->lock);
    return has;
}

/* Slots are kept for the life of the process. */
static CUresult slot_add(struct staging *staging, CUdevice device, struct overflow_slot **out)
{
    struct overflow *overflow = &staging->overflow;
    struct overflow_slot *slot = NULL;
    void *memory = NULL;
    if (overflow->most - overflow->used < BLOCK_BYTES) {
        return CUDA_ERROR_NOT_READY;
    }
    pthread_mutex_unlock(&staging->lock);
    CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
    slot = calloc(1, sizeof *slot);
    if (slot != NULL) {
        rc = staging_pin(staging->driver, staging->ledger, device, BLOCK_BYTES,
                         CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, &memory);
    }
    if (rc == CUDA_SUCCESS) {
        slot->memory = memory;
        slot->word = (uint32_t *)(slot->memory + OVERFLOW_BYTES);
        rc = staging->driver->cuMemHostGetDevicePointer_v2(&slot->word_address, slot->word, 0);
        if (rc != CUDA_SUCCESS) {
            staging_unpin(staging->driver, staging->ledger, device, BLOCK_BYTES, memory);
        }
    }
    pthread_mutex_lock(&staging->lock);
    if (rc != CUDA_SUCCESS) {
        free(slot);
        return CUDA_ERROR_NOT_READY;
    }
    slot->device = device;
    ga_list_init(&slot->turns);
    *slot->word = 0;
    ga_list_append(&overflow->slots, &slot->link);
    overflow->used += BLOCK_BYTES;
    *out = slot;
    return CUDA_SUCCESS;
}

/* The overflow slots of a stream. */
struct lane_slots {
    unsigned count;
    struct overflow_slot *shortest; /* with the fewest turns */
    struct overflow_slot *free;     /* of no stream */
    struct overflow_turn *newest;
};

static struct lane_slots overflow_lane_find(const struct overflow *overflow, uint64_t lane)
{
    struct lane_slots found = {0};
    ga_list_each (at, next, &overflow->slots) {
        struct overflow_slot *slot = ga_container(at, struct overflow_slot, link);
        if (slot->lane == 0) {
            found.free = slot;
        } else if (slot->lane == lane) {
            struct overflow_turn *last = turn_at(slot->turns.prev);
            found.count++;
            if (found.shortest == NULL || slot->turn_count < found.shortest->turn_count) {
                found.shortest = slot;
            }
            if (found.newest == NULL || last->serial > found.newest->serial) {
                found.newest = last;
            }
        }
    }
    return found;
}

/* A new turn, without leases, behind all of the stream's. */
static CUresult turn_add(struct staging *staging, CUdevice device, uint64_t lane,
                         const struct lane_slots *found, struct overflow_turn **out)
{
    struct overflow *overflow = &staging->overflow;
    struct overflow_slot *slot = found->shortest;
    CUresult rc = CUDA_SUCCESS;
    if (overflow->turns == OVERFLOW_TURNS_MAX) {
        return CUDA_ERROR_NOT_READY;
    }
    if (found->count < OVERFLOW_SLOTS) {
        struct overflow_slot *another = found->free;
        rc = another == NULL ? slot_add(staging, device, &another) : CUDA_SUCCESS;
        slot = rc == CUDA_SUCCESS ? another : slot;
    }
    struct overflow_turn *turn = slot != NULL ? malloc(sizeof *turn) : NULL;
    if (turn == NULL) {
        return CUDA_ERROR_NOT_READY;
    }
    *turn = (struct overflow_turn){.base = {.bytes = slot->memory, .of = slot},
                                   .serial = ++overflow->serial,
                                   .number = ++slot->number};
    ga_list_init(&turn->bytes);
    slot->lane = lane;
    slot->turn_count++;
    overflow->turns++;
    if (ga_list_empty(&slot->turns)) {
        turn_begin(staging, turn);
    }
    ga_list_append(&slot->turns, &turn->link);
    *out = turn;
    return CUDA_SUCCESS;
}

/* Memory for bytes, if the limit allows. */
static struct overflow_bytes *bytes_make(struct staging *staging, uint32_t size, uint8_t *to)
{
    struct overflow *overflow = &staging->overflow;
    if (overflow->most - overflow->used < size ||
        ledger_charge(staging->ledger, FIGURE_HOST_BYTES, size) != CUDA_SUCCESS) {
        return NULL;
    }
    struct overflow_bytes *bytes = aligned_alloc(16, sizeof *bytes + wire_padded(size));
    if (bytes == NULL) {
        ledger_return(staging->ledger, FIGURE_HOST_BYTES, size);
    } else {
        *bytes = (struct overflow_bytes){.to = to, .bytes = size};
        overflow->used += size;
    }
    return bytes;
}

static CUresult room_find(struct staging *staging, CUdevice device, uint64_t lane, uint32_t bytes,
                          bool in, struct overflow_room *room)
{
    struct overflow *overflow = &staging->overflow;
    struct lane_slots found = overflow_lane_find(overflow, lane);
    struct overflow_turn *turn = found.newest;
    bool fresh = found.count == 0 || bytes > OVERFLOW_BYTES - turn->used;
    if (fresh) {
        CUresult rc = turn_add(staging, device, lane, &found, &turn);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    *room = (struct overflow_room){.turn = &turn->base,
                                   .at = turn->base.bytes + turn->used,
                                   .waits = !turn->begun && !turn->awaited,
                                   .address = turn->base.of->word_address,
                                   .number = turn->number};
    if (in && !turn->begun) {
        room->aside = bytes_make(staging, bytes, room->at);
        if (room->aside == NULL) {
            return CUDA_ERROR_NOT_READY;
        }
    }
    turn->used += wire_padded(bytes);
    turn->base.leases++;
    return CUDA_SUCCESS;
}

CUresult overflow_room(struct staging *staging, CUdevice device, uint64_t lane, uint32_t bytes,
                       bool in, struct overflow_room *room)
{
    pthread_mutex_lock(&staging->lock);
    CUresult rc =
        staging->ended ? CUDA_ERROR_NOT_READY : room_find(staging, device, lane, bytes, in, room);
    pthread_mutex_unlock(&staging->lock);
    return rc;
}

void overflow_awaited(struct staging_slot *turn)
{
    turn_of(turn)->awaited = true;
}

void overflow_put(struct staging *staging, struct staging_slot *slot, struct overflow_bytes *aside)
{
    struct overflow_turn *turn = turn_of(slot);
    pthread_mutex_lock(&staging->lock);
    bool begun = turn->begun;
    if (!begun) {
        ga_list_append(&turn->bytes, &aside->link);
    }
    pthread_mutex_unlock(&staging->lock);
    if (begun) {
        memcpy(aside->to, aside->data, aside->bytes);
        overflow_put_not(staging, aside);
    }
}

void overflow_put_not(struct staging *staging, struct overflow_bytes *aside)
{
    pthread_mutex_lock(&staging->lock);
    bytes_free(staging, aside);
    pthread_mutex_unlock(&staging->lock);
}
