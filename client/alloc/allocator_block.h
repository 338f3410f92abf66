/* Inside the allocator: its blocks. All under its lock. */
#ifndef CLIENT_ALLOC_ALLOCATOR_BLOCK_H
#define CLIENT_ALLOC_ALLOCATOR_BLOCK_H

#include "client/alloc/allocator.h"
#include "client/alloc/slab.h"

enum block_state {
    BLOCK_PENDING, /* being mapped, or unmapped as a slab */
    BLOCK_USED,
    BLOCK_DRAINING, /* being freed by somebody who waits */
    BLOCK_QUEUED,   /* freed; its turn in the queue of what drains will come */
    BLOCK_KEPT,     /* free */
    BLOCK_RESERVED,
};

struct block {
    struct client_range range;
    enum block_state state;
    uint64_t asked, owner;
    struct client_slab *slab; /* NULL: a large allocation */
    struct ga_list in_list;   /* of slabs, or of what is kept */
};

static inline struct block *block_of(struct client_range *range)
{
    return range != NULL ? ga_container(range, struct block, range) : NULL;
}

static inline uint32_t block_unit(const struct block *block, uint64_t address)
{
    return (uint32_t)((address - block->range.start) / block->slab->unit_bytes);
}

/* Before the block is given back: where the server picks addresses, another thread may get the same
 * one as soon as the server has it back. */
void block_leave(struct client_allocator *allocator, struct block *block);
/* The allocation there is found no more: its block, unless it is a slab, has this state now. */
void block_hide(struct client_allocator *allocator, struct block *block, uint64_t address,
                enum block_state state);
/* When it has been given back. */
void block_free(struct client_allocator *allocator, struct block *block);
/* The block of the live allocation that contains the address, which `found` becomes. */
struct block *block_live(struct client_allocator *allocator, uint64_t address,
                         struct client_allocation *found);
/* A free block that is no waste for so many bytes, from now on used; NULL: none. */
struct block *block_kept(struct client_allocator *allocator, uint64_t bytes, uint64_t owner);

#endif
