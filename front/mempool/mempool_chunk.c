/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a chunk: a sorted array, because they are few and are looked up by address. */
#include "front/mempool/mempool_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "front/mempool/mempool_state.h"

#define BLOCKS_FIRST 16u
#define CHUNKS_FIRST 16u

const struct front_mempool_host *mempool_host;
struct mempool_chunk **mempool_chunks;
size_t mempool_chunk_count;
static size_t capacity;

/* ---- all chunks, by address */

/* The index of the first chunk behind the address. */
static size_t chunk_behind(uint64_t address)
{
    size_t low = 0, high = mempool_chunk_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mempool_chunks[middle]->start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct mempool_chunk *mempool_chunk_at(uint64_t address)
{
    size_t behind = chunk_behind(address);
    struct mempool_chunk *chunk = behind > 0 ? mempool_chunks[behind - 1] : NULL;
    return chunk != NULL && address - chunk->start < chunk->bytes ? chunk : NULL;
}

static bool chunks_room(void)
{
    if (mempool_chunk_count < capacity) {
        return true;
    }
    size_t more = capacity != 0 ? 2 * capacity : CHUNKS_FIRST;
    struct mempool_chunk **chunks = realloc(mempool_chunks, more * sizeof *chunks);
    if (chunks != NULL) {
        mempool_chunks = chunks;
        capacity = more;
    }
    return chunks != NULL;
}

bool mempool_chunk_create(struct mempool *pool, uint64_t start, uint64_t bytes)
{
    struct mempool_chunk *chunk = chunks_room() ? calloc(1, sizeof *chunk) : NULL;
    struct mempool_block *blocks = calloc(BLOCKS_FIRST, sizeof *blocks);
    if (chunk == NULL || blocks == NULL) {
        free(chunk);
        free(blocks);
        return false;
    }
    blocks[0] = (struct mempool_block){.start = start, .bytes = bytes};
    *chunk = (struct mempool_chunk){.pool = pool,
                                    .start = start,
                                    .bytes = bytes,
                                    .blocks = blocks,
                                    .count = 1,
                                    .capacity = BLOCKS_FIRST};
    struct mempool_chunk **at = mempool_chunks + chunk_behind(start);
    memmove(at + 1, at, (size_t)(mempool_chunks + mempool_chunk_count - at) * sizeof *at);
    *at = chunk;
    mempool_chunk_count++;
    return true;
}

static void mark_drop(struct mempool_block *block)
{
    if (block->mark != NULL) {
        mempool_host->drop(block->mark);
        block->mark = NULL;
    }
}

void mempool_chunk_destroy(size_t at)
{
    struct mempool_chunk *chunk = mempool_chunks[at];
    mempool_chunk_count--;
    memmove(mempool_chunks + at, mempool_chunks + at + 1,
            (mempool_chunk_count - at) * sizeof *mempool_chunks);
    for (size_t i = 0; i < chunk->count; i++) {
        mark_drop(&chunk->blocks[i]);
    }
    free(chunk->blocks);
    free(chunk);
}

/* ---- blocks of a chunk */

struct mempool_block *mempool_chunk_fit(const struct mempool_chunk *chunk, uint64_t bytes,
                                        uint64_t stream)
{
    struct mempool_block *best = NULL;
    for (size_t i = 0; chunk->bytes - chunk->used >= bytes && i < chunk->count; i++) {
        struct mempool_block *block = &chunk->blocks[i];
        bool ours = stream == 0 || block->stream == 0 || block->stream == stream;
        if (block->asked == 0 && ours && block->bytes >= bytes &&
            (best == NULL || block->bytes < best->bytes)) {
            best = block;
        }
    }
    return best;
}

struct mempool_block *mempool_chunk_take(struct mempool_chunk *chunk, struct mempool_block *block,
                                         uint64_t bytes)
{
    size_t at = (size_t)(block - chunk->blocks);
    if (block->bytes > bytes) {
        if (chunk->count == chunk->capacity) {
            struct mempool_block *more =
                realloc(chunk->blocks, 2 * chunk->capacity * sizeof *chunk->blocks);
            if (more == NULL) {
                return NULL;
            }
            chunk->blocks = more;
            chunk->capacity *= 2;
        }
        block = &chunk->blocks[at];
        memmove(block + 1, block, (chunk->count - at) * sizeof *block);
        chunk->count++;
        block[1].start += bytes;
        block[1].bytes -= bytes;
        block->bytes = bytes;
        block->mark = NULL; /* the mark stays with the remaining block */
    }
    mark_drop(block);
    chunk->used += bytes;
    return block;
}

struct mempool_block *mempool_chunk_block(const struct mempool_chunk *chunk, uint64_t address)
{
    size_t low = 0, high = chunk->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (chunk->blocks[middle].start <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &chunk->blocks[low];
}

/* Joins the free blocks `at` and `at + 1`, if both exist and belong to the same stream. The later
 * of two marks of a stream includes the other. */
static void mempool_blocks_join(struct mempool_chunk *chunk, size_t at)
{
    struct mempool_block *block = &chunk->blocks[at], *next = block + 1;
    if (at + 1 >= chunk->count || block->asked != 0 || next->asked != 0 ||
        block->stream != next->stream) {
        return;
    }
    bool later = next->mark != NULL && (block->mark == NULL || next->serial > block->serial);
    mark_drop(later ? block : next);
    if (later) {
        block->mark = next->mark;
        block->serial = next->serial;
    }
    block->bytes += next->bytes;
    memmove(next, next + 1, (chunk->count - at - 2) * sizeof *next);
    chunk->count--;
}

void mempool_chunk_give(struct mempool_chunk *chunk, struct mempool_block *block, uint64_t stream,
                        uint64_t serial, void *mark)
{
    size_t at = (size_t)(block - chunk->blocks);
    chunk->used -= block->bytes;
    *block = (struct mempool_block){.start = block->start,
                                    .bytes = block->bytes,
                                    .stream = stream,
                                    .serial = serial,
                                    .mark = mark};
    mempool_blocks_join(chunk, at);
    if (at > 0) {
        mempool_blocks_join(chunk, at - 1);
    }
}

void mempool_chunk_sweep(struct mempool_chunk *chunk, bool anybody, bool ask)
{
    uint64_t busy = 0; /* the last stream whose mark was not passed */
    for (size_t i = 0; i < chunk->count; i++) {
        struct mempool_block *block = &chunk->blocks[i];
        bool passed = block->mark != NULL && mempool_host->passed(block->mark);
        if (block->mark != NULL && !passed && ask && mempool_host->ask != NULL &&
            block->stream != busy) {
            passed = mempool_host->ask(block->mark);
            busy = passed ? busy : block->stream;
        }
        if (passed) {
            mark_drop(block);
        }
        if (anybody && block->asked == 0 && block->mark == NULL) {
            block->stream = 0;
        }
    }
    for (size_t i = chunk->count; i-- > 0;) {
        mempool_blocks_join(chunk, i);
    }
}

bool mempool_chunk_idle(const struct mempool_chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++) {
        if (chunk->blocks[i].asked != 0 || chunk->blocks[i].mark != NULL) {
            return false;
        }
    }
    return true;
}

bool mempool_chunk_pending(const struct mempool_chunk *chunk)
{
    bool pending = false;
    for (size_t i = 0; i < chunk->count; i++) {
        pending |= chunk->blocks[i].mark != NULL;
    }
    return pending;
}

struct mempool_block *mempool_chunk_live(uint64_t address, struct mempool_chunk **chunk)
{
    *chunk = mempool_chunk_at(address);
    struct mempool_block *block = *chunk != NULL ? mempool_chunk_block(*chunk, address) : NULL;
    return block != NULL && address - block->start < block->asked ? block : NULL;
}
