/* SPDX-License-Identifier: Apache-2.0 */
/* Overflow: slots for copies behind a stream that stands still, when staging slots have run out.
 * Such a slot belongs to one stream at a time, and the stream's copies use it in turns. The stream
 * itself waits in front of a turn, for a word that is written when the turn before is over, as it
 * does for host functions. Later work is therefore submitted in the driver's own order, and a
 * stream always waits for a thread of this process, never for work in another stream. (Drivers do
 * not know that a value in memory is a dependency: they may put two streams into one queue of the
 * GPU.)
 *
 * Until its turn has come, a copy to the host needs only its place in the turn, and bytes for the
 * GPU lie in ordinary memory. All of it has a limit.
 *
 * Everything here is under the lock of staging.h. The submit thread makes turns; the thread that
 * gives the last lease back (staging_give) begins the next one. */
#ifndef SERVER_PIPELINE_COPY_OVERFLOW_H
#define SERVER_PIPELINE_COPY_OVERFLOW_H

#include "base/list.h"
#include "server/pipeline/staging.h"

#define OVERFLOW_BYTES     (2u << 20) /* of a slot */
#define OVERFLOW_SLOTS     2u         /* of a stream: one is filled while the other is emptied */
#define OVERFLOW_TURNS_MAX 256u       /* a full queue of the driver would block the submit thread */

struct overflow_slot {
    struct ga_list link; /* of all */
    uint8_t *memory;
    uint32_t *word; /* pinned, too: the turn that has begun; only ever grows */
    CUdeviceptr word_address;
    CUdevice device; /* in whose primary context both are pinned */
    uint32_t number; /* of the last turn */
    uint64_t lane;   /* of completion_order.h: the stream's; 0: it is free */
    struct ga_list turns;
    unsigned turn_count;
    bool filling;                 /* bytes are being put in, without the lock */
    struct transport_memory lent; /* for the network card; state NULL: it is not known there */
};

/* Bytes for the GPU whose turn has not come. */
struct overflow_bytes {
    struct ga_list link; /* of the turn */
    uint8_t *to;         /* in the slot */
    uint32_t bytes;
    _Alignas(16) uint8_t data[]; /* padded */
};

/* As many pieces as fit, of either direction: each has a lease. */
struct overflow_turn {
    struct staging_slot base;
    struct ga_list link;  /* of the slot */
    struct ga_list bytes; /* of pieces whose leases are held */
    uint64_t serial;      /* among all */
    uint32_t number, used;
    bool begun;   /* the bytes are in the slot, the word is written */
    bool awaited; /* by the stream; of the submit thread */
};

/* The result of overflow_room. */
struct overflow_room {
    struct staging_slot *turn;    /* leased */
    uint8_t *at;                  /* where the driver copies from or to */
    struct overflow_bytes *aside; /* NULL: bytes go there at once; else here, then overflow_put */
    bool waits;                   /* the stream has to, for this: */
    CUdeviceptr address;
    uint32_t number;
};

/* Whether the stream has turns that are not over: then its next copies use overflow, too. */
bool overflow_has(struct staging *staging, uint64_t lane);
/* Room for `bytes` (OVERFLOW_BYTES at most; to the GPU, `in`: WIRE_CHUNK) in a turn of the stream,
 * 16-aligned and padded. CUDA_ERROR_NOT_READY: there is none now. New slots are pinned in the
 * primary context of `device`. Submit thread. */
CUresult overflow_room(struct staging *staging, CUdevice device, uint64_t lane, uint32_t bytes,
                       bool in, struct overflow_room *room);
/* Records that the stream waits for the turn now: overflow_room says `waits` only once. */
void overflow_awaited(struct staging_slot *turn);
/* The bytes are here. Takes `aside`. */
void overflow_put(struct staging *staging, struct staging_slot *turn, struct overflow_bytes *aside);
/* The bytes do not come. */
void overflow_put_not(struct staging *staging, struct overflow_bytes *aside);

/* ---- for staging.c, under the lock */

void overflow_init(struct overflow *overflow, uint64_t most);
/* Nobody has a lease of the turn any more; if it has begun, the next one begins. Gives up the lock
 * in between. */
void overflow_given(struct staging *staging, struct staging_slot *turn);
/* No stream waits any more. */
void overflow_end(struct overflow *overflow);
/* Gives all memory back, after the end; without the lock. */
void overflow_clear(struct staging *staging);

#endif
