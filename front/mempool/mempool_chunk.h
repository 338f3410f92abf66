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
    uint64_t stream; /* of a free block: the stream that owns it; 0: none */
    uint64_t serial; /* of the allocation, or of the free; increases */
    void *mark;      /* of a free block: a mark that may not have been passed; owned */
};

struct mempool_chunk {
    struct mempool *pool;
    uint64_t start, bytes;
    uint64_t used; /* bytes */
    struct mempool_block *blocks;
    size_t count, capacity;
};

/* front_host.mempool, once there are pools. (softgpu looks up allocations without a host.) */
extern const struct front_mempool_host *mempool_host;
extern struct mempool_chunk **mempool_chunks; /* of all pools, by address */
extern size_t mempool_chunk_count;

/* The chunk that contains the address, or NULL. */
struct mempool_chunk *mempool_chunk_at(uint64_t address);
/* Enters a chunk, all of it free and of no stream. False: no memory. */
bool mempool_chunk_create(struct mempool *pool, uint64_t start, uint64_t bytes);
/* Removes the chunk at an index of the array, and its marks. */
void mempool_chunk_destroy(size_t at);
/* The live allocation that contains the address, and its chunk. NULL: none. */
struct mempool_block *mempool_chunk_live(uint64_t address, struct mempool_chunk **chunk);
/* The smallest free block of at least `bytes` that belongs to the stream or to none; with
 * `stream` 0, to any stream. NULL: there is none. */
struct mempool_block *mempool_chunk_fit(const struct mempool_chunk *chunk, uint64_t bytes,
                                        uint64_t stream);
/* Takes the first `bytes` of a free block; the rest stays free. NULL: no memory. */
struct mempool_block *mempool_chunk_take(struct mempool_chunk *chunk, struct mempool_block *block,
                                         uint64_t bytes);
/* The block that contains the address. */
struct mempool_block *mempool_chunk_block(const struct mempool_chunk *chunk, uint64_t address);
/* Frees a block and joins it with its neighbours. Owns `mark`; NULL: no work uses the block. */
void mempool_chunk_give(struct mempool_chunk *chunk, struct mempool_block *block, uint64_t stream,
                        uint64_t serial, void *mark);
/* Drops the marks that have been passed. `anybody`: their memory then belongs to no stream.
 * `ask`: asks the device as well. */
void mempool_chunk_sweep(struct mempool_chunk *chunk, bool anybody, bool ask);
/* Whether a free block has a mark, so may still be used by work. */
bool mempool_chunk_pending(const struct mempool_chunk *chunk);
/* Whether all blocks are free and without marks. */
bool mempool_chunk_idle(const struct mempool_chunk *chunk);

#endif
