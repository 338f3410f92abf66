/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the allocator: its blocks. All under its lock. */
#ifndef CLIENT_ALLOC_ALLOCATOR_INTERNAL_H
#define CLIENT_ALLOC_ALLOCATOR_INTERNAL_H

#include "client/alloc/allocator.h"
#include "client/alloc/slab.h"

enum block_state {
    BLOCK_PENDING, /* being mapped; or a slab that is being unmapped */
    BLOCK_USED,
    BLOCK_DRAINING, /* being freed by a caller that waits for the work before */
    BLOCK_QUEUED,   /* retired: freed without a wait, in the queue of client_retired */
    BLOCK_CACHED,   /* cached: free and mapped */
    BLOCK_RESERVED,
};

struct block {
    struct client_range range;
    enum block_state state;
    uint64_t asked, owner;
    struct client_slab *slab; /* NULL: a large allocation */
    struct ga_list in_list;   /* of slabs, or of cached blocks */
};

static inline struct block *block_of(struct client_range *range)
{
    return range != NULL ? ga_container(range, struct block, range) : NULL;
}

static inline uint32_t block_unit(const struct block *block, uint64_t address)
{
    return (uint32_t)((address - block->range.start) / block->slab->unit_bytes);
}

/* Takes the block out of the map before it is unmapped: where the server picks addresses, another
 * thread may get the same one as soon as the server has it back. */
void block_leave(struct client_allocator *allocator, struct block *block);
/* Makes the allocation there invisible; its block, unless it is a slab, gets this state. */
void block_hide(struct client_allocator *allocator, struct block *block, uint64_t address,
                enum block_state state);
/* Frees the record of a block that has been unmapped. */
void block_free(struct client_allocator *allocator, struct block *block);
/* The block of the live allocation that contains the address; `*found` becomes that allocation. */
struct block *block_live(struct client_allocator *allocator, uint64_t address,
                         struct client_allocation *found);
/* Takes a cached block that fits `bytes` without much waste and marks it used; NULL: none. */
struct block *block_cached(struct client_allocator *allocator, uint64_t bytes, uint64_t owner);

#endif
