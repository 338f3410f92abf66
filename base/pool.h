/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of objects of one size, reused without the allocator and without a lock. One thread, the
 * owner, takes objects; any thread gives them back.
 *
 * Note: objects are not zeroed. An empty pool gets `batch` objects from the allocator, so the
 * number of objects in use may vary a little without further allocations. At most `keep` free
 * objects stay, so a burst does not keep its memory for ever. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdatomic.h>
#include <stddef.h>

struct ga_pool_item;

struct ga_pool {
    size_t size; /* of an object */
    unsigned batch, keep;
    atomic_uint spare;                       /* free objects in both stacks */
    struct ga_pool_item *mine;               /* the owner's */
    _Atomic(struct ga_pool_item *) returned; /* taken as a whole, which avoids ABA */
};

/* `size` of an object is rounded up to a multiple of 16, its alignment. Allocates nothing yet. */
void ga_pool_init(struct ga_pool *pool, size_t size, unsigned batch, unsigned keep);
/* Takes an object; owner only. NULL: no memory. */
void *ga_pool_take(struct ga_pool *pool);
/* Gives an object back; any thread. NULL is ignored. */
void ga_pool_give(struct ga_pool *pool, void *object);
/* Frees the free objects. Objects that are still taken must not be given back. */
void ga_pool_fini(struct ga_pool *pool);

#endif
