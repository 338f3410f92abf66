/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: blocks of 64 KiB, or larger ones for larger objects. Where memory can be poisoned, there
 * is some between any two objects. */
#include "softgpu/exec/arena.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/poison.h"
#include "softgpu/engine/budget.h"

struct sg_arena_block {
    struct sg_arena_block *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

#define ARENA_BLOCK_BYTES 65536
#define ARENA_BLOCK_SIZE  (ARENA_BLOCK_BYTES - sizeof(struct sg_arena_block))

/* Spare blocks: each kernel of a module needs some, and the system's allocator is slower. */
#define ARENA_SPARES_MAX 16
static struct {
    pthread_mutex_t lock;
    struct sg_arena_block *first;
    unsigned count;
} spares = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct sg_arena_block *arena_block_take(size_t size)
{
    struct sg_arena_block *block = NULL;
    if (size == ARENA_BLOCK_SIZE) {
        pthread_mutex_lock(&spares.lock);
        block = spares.first;
        if (block != NULL) {
            spares.first = block->next;
            spares.count--;
        }
        pthread_mutex_unlock(&spares.lock);
    }
    if (block != NULL || !sg_budget_take(sizeof *block + size, "parsed PTX")) {
        return block;
    }
    block = malloc(sizeof *block + size);
    if (block == NULL) {
        sg_budget_give(sizeof *block + size);
    }
    return block;
}

static void arena_block_give(struct sg_arena_block *block)
{
    GA_UNPOISON(block->bytes, block->size);
    if (block->size == ARENA_BLOCK_SIZE) {
        pthread_mutex_lock(&spares.lock);
        if (spares.count < ARENA_SPARES_MAX) {
            block->next = spares.first;
            spares.first = block;
            spares.count++;
            block = NULL;
        }
        pthread_mutex_unlock(&spares.lock);
    }
    if (block != NULL) {
        sg_budget_give(sizeof *block + block->size);
        free(block);
    }
}

void *sg_arena_try(struct sg_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) {
        return NULL;
    }
    const size_t asked = bytes;
    bytes = ((bytes + 15) & ~(size_t)15) + (GA_POISONS ? 16 : 0);
    struct sg_arena_block *block = arena->head;
    if (block == NULL || block->size - block->used < bytes) {
        size_t size = bytes > ARENA_BLOCK_SIZE ? bytes : ARENA_BLOCK_SIZE;
        if (arena->allowance != NULL && size > *arena->allowance) {
            return NULL;
        }
        block = arena_block_take(size);
        if (block == NULL) {
            return NULL;
        }
        *block = (struct sg_arena_block){.size = size, .next = arena->head};
        arena->head = block;
        GA_POISON(block->bytes, block->size);
        if (arena->allowance != NULL) {
            *arena->allowance -= size;
        }
    }
    void *at = block->bytes + block->used;
    block->used += bytes;
    GA_UNPOISON(at, asked);
    return memset(at, 0, asked);
}

void sg_arena_free(struct sg_arena *arena)
{
    while (arena->head != NULL) {
        struct sg_arena_block *next = arena->head->next;
        if (arena->allowance != NULL) {
            *arena->allowance += arena->head->size;
        }
        arena_block_give(arena->head);
        arena->head = next;
    }
}
