/* Who picks device addresses: the client. Device memory is mapped in blocks at addresses of the
 * session's window. Mapping is waited for, so allocations share blocks: small ones slabs of 2 MiB,
 * those of megabytes larger slabs, as large as a device of that size can spare; from there on an
 * allocation has a block of its own. What is freed is not free at once, work may still use it:
 * either the caller waits for that and says so (drain, drained), or it is kept until the caller has
 * learned that the work has ended (free, settle). Blocks that are kept stay mapped for later
 * allocations, as many bytes as the caller allows.
 *
 * Slabs belong to one owner (a context), so that everything of a context can go with it.
 * The callbacks run without the allocator's lock; results are CUresult numbers, 0 is success. */
#ifndef CLIENT_ALLOC_ALLOCATOR_H
#define CLIENT_ALLOC_ALLOCATOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "client/alloc/retired.h"
#include "client/alloc/ranges.h"

#define ALLOCATOR_UNIT    512u /* alignment of every address */
#define ALLOCATOR_CLASSES 2u

#define ALLOCATOR_OK      0
#define ALLOCATOR_INVALID 1    /* CUDA_ERROR_INVALID_VALUE */
#define ALLOCATOR_FULL    2    /* CUDA_ERROR_OUT_OF_MEMORY */
#define ALLOCATOR_AGAIN   (-1) /* of `map`: something has become free, look once more */

typedef int client_allocator_call(void *user, uint64_t address, uint64_t bytes);
/* Maps a block at *address; without a window *address is 0 and is set. */
typedef int client_allocator_map(void *user, uint64_t *address, uint64_t bytes);

/* Slabs of one kind, and the allocations that go there. */
struct client_slab_class {
    uint64_t below; /* allocations smaller than this; 0: none */
    uint64_t slab_bytes;
    uint32_t unit_bytes;
};

/* The allocation that was found last, to be found again without the lock: `turn` is odd while who
 * has the lock changes it. */
struct client_allocation_last {
    atomic_uint turn;
    _Atomic uint64_t address, bytes, owner; /* bytes 0: none */
};

struct client_allocator {
    pthread_mutex_t lock;
    struct client_allocation_last last;
    uint64_t granularity;
    bool unpinned; /* no window: addresses come from the server */
    struct client_slab_class classes[ALLOCATOR_CLASSES]; /* the smallest first */
    struct client_ranges blocks;                         /* everything mapped or being mapped */
    struct client_ranges gaps; /* addresses of the window that no block has */
    struct ga_list slabs;
    uint64_t free_bytes;            /* mapped and not in use: in slabs */
    struct client_retired draining; /* freed, and its work has not ended */
    struct ga_list kept;            /* large blocks that are free, the one freed last behind */
    uint64_t kept_most;             /* bytes of them, and of what drains */
    uint64_t kept_bytes;            /* of large blocks that are free */
};

struct client_allocation {
    uint64_t address, bytes; /* as asked for */
    uint64_t owner;
};

/* `granularity`: of mappings; a power of two. `memory_bytes`: of the device. `bytes` 0: there is no
 * window. */
void client_allocator_init(struct client_allocator *allocator, uint64_t base, uint64_t bytes,
                           uint64_t granularity, uint64_t memory_bytes);
/* The size of the first block, for small allocations, that is mapped along with a session. */
uint64_t client_allocator_first_bytes(uint64_t granularity);
/* So many bytes at the start of the window are mapped already, for `owner`; 0: none. To be told
 * before anything else. */
void client_allocator_mapped(struct client_allocator *allocator, uint64_t bytes, uint64_t owner);
/* Only for tests: sessions live as long as the process. */
void client_allocator_fini(struct client_allocator *allocator);

/* Allocates, mapping a block if need be. `bytes` > 0. Errors: what `map` said, ALLOCATOR_FULL. */
int client_allocator_take(struct client_allocator *allocator, uint64_t bytes, uint64_t owner,
                          client_allocator_map *map, void *user, uint64_t *address);

/* First step of freeing: from now on the allocation is not found any more, and its bytes are not
 * given to others. *unmap_bytes: of the block that goes with it; 0: a part of a slab.
 * ALLOCATOR_INVALID: no allocation starts there. */
int client_allocator_drain(struct client_allocator *allocator, uint64_t address,
                           uint64_t *unmap_bytes);
/* Second step: no work uses it any more, and its block (if any) is unmapped. When this leaves a
 * slab empty that is too much, `unmap` gives that back. */
void client_allocator_drained(struct client_allocator *allocator, uint64_t address,
                              client_allocator_call *unmap, void *user);

/* Frees without waiting: from now on the allocation is not found any more; its bytes are given to
 * others when all work up to `mark` has ended (see settle). Older free blocks are given back where
 * more would be kept than may be. ALLOCATOR_INVALID: no allocation starts there. ALLOCATOR_FULL: it
 * would be more all the same, and nothing has happened. */
int client_allocator_free(struct client_allocator *allocator, uint64_t address, uint64_t mark,
                          client_allocator_call *unmap, void *user);
/* All work of the owner up to `done` has ended. Whether that has made anything free. */
bool client_allocator_settle(struct client_allocator *allocator, uint64_t owner, uint64_t done,
                             client_allocator_call *unmap, void *user);
/* Whether anything of the owner waits for that. */
bool client_allocator_drains(struct client_allocator *allocator, uint64_t owner);

/* Gives every empty slab and every free block back. */
void client_allocator_trim(struct client_allocator *allocator, client_allocator_call *unmap,
                           void *user);
/* Everything of an owner goes, drained or not; `unmap` is told each block. */
void client_allocator_drop(struct client_allocator *allocator, uint64_t owner,
                           client_allocator_call *unmap, void *user);

/* Addresses for mappings that are not the allocator's: a block of whole granules, where `wish` says
 * if that is free, else anywhere; a multiple of `alignment` (a power of two, or 0). Nothing is
 * found in it. ALLOCATOR_FULL: there is no room, or no window. */
int client_allocator_reserve(struct client_allocator *allocator, uint64_t wish, uint64_t bytes,
                             uint64_t alignment, uint64_t *address);
/* Only what was reserved, and all of it. */
int client_allocator_unreserve(struct client_allocator *allocator, uint64_t address,
                               uint64_t bytes);

/* The live allocation that contains the address. */
bool client_allocator_find(struct client_allocator *allocator, uint64_t address,
                           struct client_allocation *allocation);
/* Whether a block of ours is there, allocated or not. */
bool client_allocator_holds(struct client_allocator *allocator, uint64_t address);
/* Mapped, and the program's no more. */
uint64_t client_allocator_free_bytes(struct client_allocator *allocator);

#endif
