/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for objects of one size, used again without the allocator and without a lock. One thread
 * takes (the owner); any thread gives back.
 *
 * What a reader would get wrong: what is taken is not zeroed. A pool that is empty asks the
 * allocator for `batch` objects, so how many are under way may vary a little without asking again;
 * at most `keep` free ones stay, so that a burst does not keep its memory for ever. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdatomic.h>
#include <stddef.h>

struct ga_pool_item;

struct ga_pool {
    size_t size; /* of an object */
    unsigned batch, keep;
    atomic_uint spare;                       /* objects in the two stacks */
    struct ga_pool_item *mine;               /* the owner's */
    _Atomic(struct ga_pool_item *) returned; /* all of it is taken at once: so no ABA */
};

/* `size`: of an object; rounded up to 16, and so aligned. Allocates nothing yet. */
void ga_pool_init(struct ga_pool *pool, size_t size, unsigned batch, unsigned keep);
/* An object, by the owner. NULL: no memory. */
void *ga_pool_take(struct ga_pool *pool);
/* Gives one back, from any thread. NULL: nothing. */
void ga_pool_give(struct ga_pool *pool, void *object);
/* Frees what is free; what is still taken must not come back. */
void ga_pool_fini(struct ga_pool *pool);

#endif
