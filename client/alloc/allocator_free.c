/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's other half: freeing, caching and unmapping. */
#include "client/alloc/allocator_internal.h"

#define WASTE_SHARE 4u /* a cached block may be larger than what is asked for, by a fourth */

/* ---- freeing with a wait */

int client_allocator_drain(struct client_allocator *a, uint64_t address, uint64_t *unmap_bytes)
{
    struct client_allocation found;
    pthread_mutex_lock(&a->lock);
    struct block *block = block_live(a, address, &found);
    if (block == NULL || found.address != address) {
        pthread_mutex_unlock(&a->lock);
        return ALLOCATOR_INVALID;
    }
    block_hide(a, block, address, BLOCK_DRAINING);
    *unmap_bytes = block->slab != NULL ? 0 : block->range.bytes;
    pthread_mutex_unlock(&a->lock);
    return ALLOCATOR_OK;
}

/* Subtracts the block's bytes from the counts of free and cached bytes. */
static void uncount(struct client_allocator *a, const struct block *block)
{
    if (block->slab != NULL) {
        a->free_bytes -=
            (uint64_t)(block->slab->units - block->slab->used) * block->slab->unit_bytes;
    } else if (block->state == BLOCK_CACHED) {
        a->cached_bytes -= block->range.bytes;
    }
}

/* Unmaps a block. The caller holds the lock, which is released during `unmap`. */
static void block_unmap(struct client_allocator *a, struct block *block,
                        client_allocator_call *unmap, void *user)
{
    uncount(a, block);
    block->state = BLOCK_PENDING;
    ga_list_remove(&block->in_list);
    block_leave(a, block);
    pthread_mutex_unlock(&a->lock);
    (void)unmap(user, block->range.start, block->range.bytes);
    pthread_mutex_lock(&a->lock);
    block_free(a, block);
}

/* Any empty slab; with `keep` another one of the same owner and kind. */
static struct block *empty_slab(struct client_allocator *a, const struct block *keep)
{
    ga_list_each (at, following, &a->slabs) {
        struct block *block = ga_container(at, struct block, in_list);
        bool same = keep == NULL || (block->owner == keep->owner &&
                                     block->slab->unit_bytes == keep->slab->unit_bytes);
        if (block != keep && block->slab->used == 0 && block->state == BLOCK_USED && same) {
            return block;
        }
    }
    return NULL;
}

/* The caller holds the lock, which is released while a slab is unmapped. */
static void slab_give(struct client_allocator *a, struct block *block, uint32_t unit,
                      client_allocator_call *unmap, void *user)
{
    uint32_t used = block->slab->used;
    client_slab_give(block->slab, unit);
    a->free_bytes += (uint64_t)(used - block->slab->used) * block->slab->unit_bytes;
    /* One empty slab per owner stays in any case, for programs that free and allocate in turn. */
    struct block *other = block->slab->used == 0 ? empty_slab(a, block) : NULL;
    if (other != NULL && a->free_bytes + a->cached_bytes + a->retired.bytes > a->cached_max) {
        block_unmap(a, other, unmap, user);
    }
}

void client_allocator_drained(struct client_allocator *a, uint64_t address,
                              client_allocator_call *unmap, void *user)
{
    pthread_mutex_lock(&a->lock);
    struct block *block = block_of(client_ranges_find(&a->blocks, address));
    if (block != NULL && block->slab == NULL && block->state == BLOCK_DRAINING) {
        block_leave(a, block);
        block_free(a, block);
    } else if (block != NULL && block->slab != NULL) {
        uint32_t unit = block_unit(block, address);
        if ((block->slab->bytes[unit] & SLAB_DRAINING) != 0) {
            slab_give(a, block, unit, unmap, user);
        }
    }
    pthread_mutex_unlock(&a->lock);
}

/* ---- freeing without a wait */

struct block *block_cached(struct client_allocator *a, uint64_t bytes, uint64_t owner)
{
    struct block *best = NULL;
    ga_list_each (at, following, &a->cached) {
        struct block *block = ga_container(at, struct block, in_list);
        if (block->owner == owner && block->range.bytes >= bytes &&
            block->range.bytes - bytes <= bytes / WASTE_SHARE &&
            (best == NULL || block->range.bytes < best->range.bytes)) {
            best = block;
        }
    }
    if (best != NULL) {
        ga_list_remove(&best->in_list);
        best->state = BLOCK_USED;
        a->cached_bytes -= best->range.bytes;
    }
    return best;
}

/* Whether `bytes` more may be retired. Memory of slabs stays mapped in any case. */
static bool may_drain(const struct client_allocator *a, const struct block *block, uint64_t bytes)
{
    uint64_t cached = block->slab == NULL ? a->cached_bytes : 0;
    return a->cached_max != 0 && cached + a->retired.bytes + bytes <= a->cached_max;
}

/* The caller holds the lock; ALLOCATOR_AGAIN: it was released, so the state may have changed. */
static int try_free(struct client_allocator *a, uint64_t address, uint64_t mark,
                    client_allocator_call *unmap, void *user)
{
    struct client_allocation found;
    struct block *block = block_live(a, address, &found);
    if (block == NULL || found.address != address) {
        return ALLOCATOR_INVALID;
    }
    struct client_retired_entry entry = {
        .owner = block->owner, .address = address, .bytes = block->range.bytes, .mark = mark};
    if (block->slab != NULL) {
        uint64_t unit_bytes = block->slab->unit_bytes;
        entry.bytes = (found.bytes + unit_bytes - 1) / unit_bytes * unit_bytes;
    }
    if (!may_drain(a, block, entry.bytes)) {
        if (block->slab != NULL || entry.bytes > a->cached_max || ga_list_empty(&a->cached)) {
            return ALLOCATOR_FULL;
        }
        block_unmap(a, ga_container(a->cached.next, struct block, in_list), unmap, user);
        return ALLOCATOR_AGAIN;
    }
    if (!client_retired_add(&a->retired, &entry)) {
        return ALLOCATOR_FULL;
    }
    block_hide(a, block, address, BLOCK_QUEUED);
    return ALLOCATOR_OK;
}

int client_allocator_free(struct client_allocator *a, uint64_t address, uint64_t mark,
                          client_allocator_call *unmap, void *user)
{
    int rc;
    pthread_mutex_lock(&a->lock);
    while ((rc = try_free(a, address, mark, unmap, user)) == ALLOCATOR_AGAIN) {
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

bool client_allocator_settle(struct client_allocator *a, uint64_t owner, uint64_t done,
                             client_allocator_call *unmap, void *user)
{
    struct client_retired_entry entry;
    bool any = false;
    pthread_mutex_lock(&a->lock);
    while (client_retired_next(&a->retired, owner, done, &entry)) {
        any = true;
        struct block *block = block_of(client_ranges_find(&a->blocks, entry.address));
        if (block->slab != NULL) {
            slab_give(a, block, block_unit(block, entry.address), unmap, user);
        } else {
            block->state = BLOCK_CACHED;
            a->cached_bytes += block->range.bytes;
            ga_list_append(&a->cached, &block->in_list);
        }
    }
    pthread_mutex_unlock(&a->lock);
    return any;
}

bool client_allocator_drains(struct client_allocator *a, uint64_t owner)
{
    pthread_mutex_lock(&a->lock);
    bool some = client_retired_some(&a->retired, owner);
    pthread_mutex_unlock(&a->lock);
    return some;
}

/* ---- unmapping */

void client_allocator_trim(struct client_allocator *a, client_allocator_call *unmap, void *user)
{
    struct block *block;
    pthread_mutex_lock(&a->lock);
    while ((block = empty_slab(a, NULL)) != NULL) {
        block_unmap(a, block, unmap, user);
    }
    while (!ga_list_empty(&a->cached)) {
        block_unmap(a, ga_container(a->cached.next, struct block, in_list), unmap, user);
    }
    pthread_mutex_unlock(&a->lock);
}

void client_allocator_drop(struct client_allocator *a, uint64_t owner, client_allocator_call *unmap,
                           void *user)
{
    struct client_retired_entry entry;
    pthread_mutex_lock(&a->lock);
    while (client_retired_next(&a->retired, owner, UINT64_MAX, &entry)) {
    }
    struct client_range *range = client_ranges_from(&a->blocks, 0);
    while (range != NULL) {
        struct block *block = block_of(range);
        uint64_t end = range->start + range->bytes;
        if (block->owner == owner && (block->state == BLOCK_USED || block->state == BLOCK_QUEUED ||
                                      block->state == BLOCK_CACHED)) {
            block_unmap(a, block, unmap, user);
        }
        range = client_ranges_from(&a->blocks, end);
    }
    pthread_mutex_unlock(&a->lock);
}
