/* SPDX-License-Identifier: Apache-2.0 */
/* The client's allocator: blocks in a window, slabs in blocks. */
#include "client/alloc/allocator.h"

#include <stdlib.h>

#include "client/alloc/allocator_internal.h"
#include "client/alloc/free_ranges.h"

#define SMALL_SLAB       (UINT64_C(2) << 20)
#define LARGE_SLAB_MAX   (UINT64_C(32) << 20)
#define LARGE_SLAB_SHARE 32u /* of a device's memory: at most one in so many bytes */
#define LARGE_UNIT       65536u
#define LARGE_UNITS_MIN  8u /* smaller ones go to small slabs */

uint64_t client_allocator_first_bytes(uint64_t granularity)
{
    return granularity > SMALL_SLAB ? granularity : SMALL_SLAB;
}

/* An empty slab may be kept, so a large one is a small part of the device's memory. */
static uint64_t large_slab(uint64_t memory_bytes)
{
    uint64_t bytes = LARGE_SLAB_MAX;
    while (bytes > memory_bytes / LARGE_SLAB_SHARE) {
        bytes /= 2;
    }
    return bytes;
}

static void classes_init(struct client_allocator *a, uint64_t memory_bytes)
{
    uint64_t small = client_allocator_first_bytes(a->granularity);
    uint64_t large = large_slab(memory_bytes);
    a->classes[0] = (struct client_slab_class){small, small, ALLOCATOR_UNIT};
    if (large >= 4 * small && large % a->granularity == 0) {
        a->classes[0].below = LARGE_UNIT * LARGE_UNITS_MIN;
        a->classes[1] = (struct client_slab_class){large / 4, large, LARGE_UNIT};
    }
}

void client_allocator_init(struct client_allocator *a, uint64_t base, uint64_t bytes,
                           uint64_t granularity, uint64_t memory_bytes)
{
    *a = (struct client_allocator){.granularity = granularity != 0 ? granularity : 4096};
    pthread_mutex_init(&a->lock, NULL);
    ga_list_init(&a->slabs);
    ga_list_init(&a->cached);
    classes_init(a, memory_bytes);
    a->unpinned = bytes == 0;
    if (!a->unpinned) {
        client_free_ranges_add(&a->free_ranges, base, bytes);
    }
}

/* ---- what was found last */

static void allocator_last_set(struct client_allocator *a,
                               const struct client_allocation *allocation)
{
    struct client_allocation_last *last = &a->last;
    unsigned turn = atomic_load_explicit(&last->turn, memory_order_relaxed);
    atomic_store_explicit(&last->turn, turn + 1, memory_order_relaxed);
    atomic_store_explicit(&last->address, allocation->address, memory_order_release);
    atomic_store_explicit(&last->bytes, allocation->bytes, memory_order_release);
    atomic_store_explicit(&last->owner, allocation->owner, memory_order_release);
    atomic_store_explicit(&last->turn, turn + 2, memory_order_release);
}

/* Without the lock. */
static bool last_is(struct client_allocator *a, uint64_t address, struct client_allocation *found)
{
    struct client_allocation_last *last = &a->last;
    unsigned turn = atomic_load_explicit(&last->turn, memory_order_acquire);
    found->address = atomic_load_explicit(&last->address, memory_order_acquire);
    found->bytes = atomic_load_explicit(&last->bytes, memory_order_acquire);
    found->owner = atomic_load_explicit(&last->owner, memory_order_acquire);
    return turn % 2 == 0 && atomic_load_explicit(&last->turn, memory_order_relaxed) == turn &&
           address - found->address < found->bytes;
}

static void last_forget(struct client_allocator *a)
{
    if (atomic_load_explicit(&a->last.bytes, memory_order_relaxed) != 0) {
        allocator_last_set(a, &(struct client_allocation){.bytes = 0});
    }
}

/* ---- blocks */

void block_hide(struct client_allocator *a, struct block *block, uint64_t address,
                enum block_state state)
{
    last_forget(a);
    if (block->slab != NULL) {
        block->slab->bytes[block_unit(block, address)] |= SLAB_DRAINING;
    } else {
        block->state = state;
    }
}

void block_leave(struct client_allocator *a, struct block *block)
{
    last_forget(a);
    client_ranges_remove(&a->blocks, &block->range);
}

void block_free(struct client_allocator *a, struct block *block)
{
    if (!a->unpinned) {
        client_free_ranges_add(&a->free_ranges, block->range.start, block->range.bytes);
    }
    ga_list_remove(&block->in_list);
    if (block->slab != NULL) {
        client_slab_destroy(block->slab);
    }
    free(block);
}

void client_allocator_fini(struct client_allocator *a)
{
    while (a->blocks.root != NULL) {
        struct block *block = block_of(a->blocks.root);
        block_leave(a, block);
        block_free(a, block);
    }
    client_free_ranges_fini(&a->free_ranges);
    client_retired_fini(&a->retired);
    pthread_mutex_destroy(&a->lock);
}

static void block_destroy(struct block *block)
{
    if (block->slab != NULL) {
        client_slab_destroy(block->slab);
    }
    free(block);
}

/* A block without an address; a slab of units of `unit_bytes` unless that is 0. */
static struct block *block_create(uint64_t bytes, uint64_t owner, uint32_t unit_bytes)
{
    struct block *block = calloc(1, sizeof *block);
    if (block == NULL) {
        return NULL;
    }
    block->range.bytes = bytes;
    block->owner = owner;
    ga_list_init(&block->in_list);
    if (unit_bytes != 0) {
        block->slab = client_slab_create((uint32_t)(bytes / unit_bytes), unit_bytes);
        if (block->slab == NULL) {
            free(block);
            return NULL;
        }
    }
    return block;
}

/* A block of the window that is not mapped yet. The caller holds the lock. */
static struct block *block_make(struct client_allocator *a, uint64_t bytes, uint64_t owner,
                                uint32_t unit_bytes)
{
    struct block *block = block_create(bytes, owner, unit_bytes);
    if (block != NULL && !client_free_ranges_take(&a->free_ranges, bytes, 1, &block->range.start)) {
        block_destroy(block);
        return NULL;
    }
    if (block != NULL) {
        (void)client_ranges_insert(&a->blocks, &block->range);
    }
    return block;
}

/* The block has been mapped. The caller holds the lock. */
static void block_mapped(struct client_allocator *a, struct block *block)
{
    block->state = BLOCK_USED;
    if (block->slab != NULL) {
        ga_list_append(&a->slabs, &block->in_list);
        a->free_bytes += block->range.bytes;
    }
}

void client_allocator_mapped(struct client_allocator *a, uint64_t bytes, uint64_t owner)
{
    pthread_mutex_lock(&a->lock);
    struct block *block = bytes != 0 ? block_make(a, bytes, owner, ALLOCATOR_UNIT) : NULL;
    uint64_t start;
    if (block != NULL) {
        block_mapped(a, block);
    } else if (bytes != 0) {
        (void)client_free_ranges_take(&a->free_ranges, bytes, 1,
                                      &start); /* out of memory: nothing else may be mapped there */
    }
    pthread_mutex_unlock(&a->lock);
}

/* Maps a block where the server picks the address. The caller holds the lock, which is released
 * during `map`. */
static int block_ask(struct client_allocator *a, uint64_t bytes, uint64_t owner,
                     uint32_t unit_bytes, client_allocator_map *map, void *user, struct block **out)
{
    struct block *block = block_create(bytes, owner, unit_bytes);
    if (block == NULL) {
        return ALLOCATOR_FULL;
    }
    pthread_mutex_unlock(&a->lock);
    int rc = map(user, &block->range.start, bytes);
    pthread_mutex_lock(&a->lock);
    if (rc == ALLOCATOR_OK && !client_ranges_insert(&a->blocks, &block->range)) {
        rc = ALLOCATOR_FULL; /* the server has given the same memory twice: do not use it */
    }
    if (rc != ALLOCATOR_OK) {
        block_destroy(block);
        return rc;
    }
    block_mapped(a, block);
    *out = block;
    return ALLOCATOR_OK;
}

/* Maps a new block. The caller holds the lock, which is released during `map`. */
static int block_map(struct client_allocator *a, uint64_t bytes, uint64_t owner,
                     uint32_t unit_bytes, client_allocator_map *map, void *user, struct block **out)
{
    if (a->unpinned) {
        return block_ask(a, bytes, owner, unit_bytes, map, user, out);
    }
    struct block *block = block_make(a, bytes, owner, unit_bytes);
    if (block == NULL) {
        return ALLOCATOR_FULL;
    }
    uint64_t start = block->range.start;
    pthread_mutex_unlock(&a->lock);
    int rc = map(user, &start, bytes);
    pthread_mutex_lock(&a->lock);
    if (rc != ALLOCATOR_OK) {
        block_leave(a, block);
        block_free(a, block);
        return rc;
    }
    block_mapped(a, block);
    *out = block;
    return ALLOCATOR_OK;
}

static bool allocator_take_from(struct client_allocator *a, struct block *block, uint64_t bytes,
                                uint64_t *address)
{
    uint32_t unit, used = block->slab->used;
    if (!client_slab_take(block->slab, (uint32_t)bytes, &unit)) {
        return false;
    }
    a->free_bytes -= (uint64_t)(block->slab->used - used) * block->slab->unit_bytes;
    *address = block->range.start + (uint64_t)unit * block->slab->unit_bytes;
    return true;
}

static int take_shared(struct client_allocator *a, const struct client_slab_class *class,
                       uint64_t bytes, uint64_t owner, client_allocator_map *map, void *user,
                       uint64_t *address)
{
    ga_list_each (at, following, &a->slabs) {
        struct block *block = ga_container(at, struct block, in_list);
        if (block->owner == owner && block->state == BLOCK_USED &&
            block->slab->unit_bytes == class->unit_bytes &&
            allocator_take_from(a, block, bytes, address)) {
            return ALLOCATOR_OK;
        }
    }
    struct block *block;
    int rc = block_map(a, class->slab_bytes, owner, class->unit_bytes, map, user, &block);
    if (rc == ALLOCATOR_OK && !allocator_take_from(a, block, bytes, address)) {
        rc = ALLOCATOR_FULL; /* another thread was quicker; not with a fresh slab in practice */
    }
    return rc;
}

static int take_alone(struct client_allocator *a, uint64_t bytes, uint64_t owner,
                      client_allocator_map *map, void *user, uint64_t *address)
{
    uint64_t rounded = (bytes + a->granularity - 1) & ~(a->granularity - 1);
    struct block *block = block_cached(a, rounded, owner);
    int rc = rounded < bytes ? ALLOCATOR_FULL
             : block != NULL ? ALLOCATOR_OK
                             : block_map(a, rounded, owner, 0, map, user, &block);
    if (rc == ALLOCATOR_OK) {
        block->asked = bytes;
        *address = block->range.start;
    }
    return rc;
}

int client_allocator_take(struct client_allocator *a, uint64_t bytes, uint64_t owner,
                          client_allocator_map *map, void *user, uint64_t *address)
{
    int rc = ALLOCATOR_FULL;
    pthread_mutex_lock(&a->lock);
    for (unsigned i = 0; i < ALLOCATOR_CLASSES; i++) {
        if (bytes < a->classes[i].below) {
            rc = take_shared(a, &a->classes[i], bytes, owner, map, user, address);
            break;
        }
    }
    if (rc == ALLOCATOR_FULL) { /* too large, or the device has no room for a slab more */
        rc = take_alone(a, bytes, owner, map, user, address);
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

/* ---- addresses for others */

int client_allocator_reserve(struct client_allocator *a, uint64_t wish, uint64_t bytes,
                             uint64_t alignment, uint64_t *address)
{
    alignment = alignment > a->granularity ? alignment : a->granularity;
    if (bytes == 0 || bytes % a->granularity != 0 || (alignment & (alignment - 1)) != 0) {
        return ALLOCATOR_INVALID;
    }
    struct block *block = a->unpinned ? NULL : block_create(bytes, 0, 0);
    if (block == NULL) {
        return ALLOCATOR_FULL;
    }
    block->state = BLOCK_RESERVED;
    block->range.start = wish;
    pthread_mutex_lock(&a->lock);
    bool found = (wish != 0 && wish % alignment == 0 &&
                  client_free_ranges_take_at(&a->free_ranges, wish, bytes)) ||
                 client_free_ranges_take(&a->free_ranges, bytes, alignment, &block->range.start);
    if (found) {
        (void)client_ranges_insert(&a->blocks, &block->range);
        *address = block->range.start;
    } else {
        block_destroy(block);
    }
    pthread_mutex_unlock(&a->lock);
    return found ? ALLOCATOR_OK : ALLOCATOR_FULL;
}

int client_allocator_unreserve(struct client_allocator *a, uint64_t address, uint64_t bytes)
{
    int rc = ALLOCATOR_INVALID;
    pthread_mutex_lock(&a->lock);
    struct block *block = block_of(client_ranges_find(&a->blocks, address));
    if (block != NULL && block->state == BLOCK_RESERVED && block->range.start == address &&
        block->range.bytes == bytes) {
        block_leave(a, block);
        block_free(a, block);
        rc = ALLOCATOR_OK;
    }
    pthread_mutex_unlock(&a->lock);
    return rc;
}

/* ---- finding */

struct block *block_live(struct client_allocator *a, uint64_t address,
                         struct client_allocation *found)
{
    struct block *block = block_of(client_ranges_find(&a->blocks, address));
    if (block == NULL || block->state != BLOCK_USED) {
        return NULL;
    }
    found->owner = block->owner;
    found->address = block->range.start;
    found->bytes = block->asked;
    if (block->slab != NULL) {
        uint32_t first;
        if (!client_slab_find(block->slab, block_unit(block, address), &first) ||
            (block->slab->bytes[first] & SLAB_DRAINING) != 0) {
            return NULL;
        }
        found->address = block->range.start + (uint64_t)first * block->slab->unit_bytes;
        found->bytes = block->slab->bytes[first];
    }
    return address - found->address < found->bytes ? block : NULL;
}

bool client_allocator_find(struct client_allocator *a, uint64_t address,
                           struct client_allocation *allocation)
{
    if (last_is(a, address, allocation)) {
        return true;
    }
    pthread_mutex_lock(&a->lock);
    bool found = block_live(a, address, allocation) != NULL;
    if (found) {
        allocator_last_set(a, allocation);
    }
    pthread_mutex_unlock(&a->lock);
    return found;
}

bool client_allocator_holds(struct client_allocator *a, uint64_t address)
{
    pthread_mutex_lock(&a->lock);
    bool held = client_ranges_find(&a->blocks, address) != NULL;
    pthread_mutex_unlock(&a->lock);
    return held;
}

uint64_t client_allocator_free_bytes(struct client_allocator *a)
{
    pthread_mutex_lock(&a->lock);
    uint64_t bytes = a->free_bytes + a->cached_bytes + a->retired.bytes;
    pthread_mutex_unlock(&a->lock);
    return bytes;
}
