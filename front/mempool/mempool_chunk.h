/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk of a memory pool: mapped memory, cut into blocks in the order of their addresses. */
#ifndef FRONT_MEMPOOL_MEMPOOL_CHUNK_H
#define FRONT_MEMPOOL_MEMPOOL_CHUNK_H

#include <stddef.h>

#include "front/mempool/mempool.h"

struct mempool;

struct mempool_block {
    uint64_t start, bytes;
    uint64_t asked;  /* 0: it is free */
    uint64_t stream; /* of a free one: whose memory it is; 0: anybody's */
    uint64_t serial; /* of its allocation, or of its free: later ones are greater */
    void *mark;      /* of a free one: not known to be passed; owned */
};

struct mempool_chunk {
    struct mempool *pool;
    uint64_t start, bytes;
    uint64_t used; /* bytes */
    struct mempool_block *blocks;
    size_t count, capacity;
};

/* front_host.mempool, once there are pools. (softgpu looks for allocations without a host.) */
extern const struct front_mempool_host *mempool_host;
extern struct mempool_chunk **mempool_chunks; /* of all pools, by address */
extern size_t mempool_chunk_count;

/* The one that contains the address, or NULL. */
struct mempool_chunk *mempool_chunk_at(uint64_t address);
/* Enters a chunk: all of it free, and anybody's. False: no memory. */
bool mempool_chunk_create(struct mempool *pool, uint64_t start, uint64_t bytes);
/* By its place in the array. Drops its marks, too. */
void mempool_chunk_destroy(size_t at);
/* The live allocation that contains the address, and its chunk; or NULL. */
struct mempool_block *mempool_chunk_live(uint64_t address, struct mempool_chunk **chunk);
/* The smallest free block of at least `bytes` that belongs to the stream or to anybody; with
 * `stream` 0 to whomever. NULL: there is none. */
struct mempool_block *mempool_chunk_fit(const struct mempool_chunk *chunk, uint64_t bytes,
                                        uint64_t stream);
/* Takes the first `bytes` of a free block; what remains stays as it was. NULL: no memory. */
struct mempool_block *mempool_chunk_take(struct mempool_chunk *chunk, struct mempool_block *block,
                                         uint64_t bytes);
/* The block that contains the address. */
struct mempool_block *mempool_chunk_block(const struct mempool_chunk *chunk, uint64_t address);
/* Frees a block, and joins it with its neighbours. `mark` is taken; NULL: nothing uses it. */
void mempool_chunk_give(struct mempool_chunk *chunk, struct mempool_block *block, uint64_t stream,
                        uint64_t serial, void *mark);
/* Looks which marks are passed; memory becomes anybody's with that if `anybody`. `ask`: what is not
 * known is found out. */
void mempool_chunk_sweep(struct mempool_chunk *chunk, bool anybody, bool ask);
/* Something of it was freed behind work that is not known to have ended. */
bool mempool_chunk_pending(const struct mempool_chunk *chunk);
/* Nothing of it is in use, or may be by work that has not ended. */
bool mempool_chunk_idle(const struct mempool_chunk *chunk);

#endif
