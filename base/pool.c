/* SPDX-License-Identifier: Apache-2.0 */
/* Free objects in two stacks: the owner's, and one that all other threads push on. */
#include "base/pool.h"

#include <stdlib.h>

#include "base/poison.h"

/* A free object. */
struct ga_pool_item {
    struct ga_pool_item *next;
};

void ga_pool_init(struct ga_pool *pool, size_t size, unsigned batch, unsigned keep)
{
    size = size > sizeof(struct ga_pool_item) ? size : sizeof(struct ga_pool_item);
    pool->size = (size + 15) & ~(size_t)15;
    pool->batch = batch;
    pool->keep = keep;
    pool->mine = NULL;
    atomic_init(&pool->spare, 0);
    atomic_init(&pool->returned, NULL);
}

/* Poisons a free object except its link, so that a use after free is detected. */
static struct ga_pool_item *item_make(const struct ga_pool *pool, void *object)
{
    GA_POISON((struct ga_pool_item *)object + 1, pool->size - sizeof(struct ga_pool_item));
    return object;
}

/* Called by the owner, whose stack is empty. */
static void pool_grow(struct ga_pool *pool)
{
    void *object;
    for (unsigned i = 0; i < pool->batch && (object = aligned_alloc(16, pool->size)) != NULL; i++) {
        struct ga_pool_item *item = item_make(pool, object);
        item->next = pool->mine;
        pool->mine = item;
        atomic_fetch_add_explicit(&pool->spare, 1, memory_order_relaxed);
    }
}

void *ga_pool_take(struct ga_pool *pool)
{
    if (pool->mine == NULL) {
        pool->mine = atomic_exchange_explicit(&pool->returned, NULL, memory_order_acquire);
    }
    if (pool->mine == NULL) {
        pool_grow(pool);
    }
    struct ga_pool_item *item = pool->mine;
    if (item != NULL) {
        pool->mine = item->next;
        atomic_fetch_sub_explicit(&pool->spare, 1, memory_order_relaxed);
        GA_UNPOISON(item, pool->size);
    }
    return item;
}

void ga_pool_give(struct ga_pool *pool, void *object)
{
    if (object == NULL) {
        return;
    }
    if (atomic_fetch_add_explicit(&pool->spare, 1, memory_order_relaxed) >= pool->keep) {
        atomic_fetch_sub_explicit(&pool->spare, 1, memory_order_relaxed);
        free(object);
        return;
    }
    struct ga_pool_item *item = item_make(pool, object);
    item->next = atomic_load_explicit(&pool->returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->returned, &item->next, item,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

static void pool_stack_free(struct ga_pool *pool, struct ga_pool_item *item)
{
    while (item != NULL) {
        struct ga_pool_item *next = item->next;
        GA_UNPOISON(item, pool->size);
        free(item);
        item = next;
    }
}

void ga_pool_fini(struct ga_pool *pool)
{
    pool_stack_free(pool, pool->mine);
    pool_stack_free(pool, atomic_load(&pool->returned));
    ga_pool_init(pool, pool->size, pool->batch, pool->keep);
}
