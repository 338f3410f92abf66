/* SPDX-License-Identifier: Apache-2.0 */
/* The client picks device addresses. Device memory is mapped in blocks, at addresses of the
 * session's window. Mapping costs a round trip, so allocations share blocks: small ones share slabs
 * of 2 MiB, larger ones share large slabs, whose size depends on the device's memory; beyond that
 * an allocation has a block of its own.
 *
 * Freed memory is not free at once, because work may still use it. Either the caller waits for that
 * work and says so (drain, then drained), or the memory is retired until the caller has learned
 * that the work has ended (free, then settle). Free blocks stay mapped (cached) for later
 * allocations, up to as many bytes as the caller allows.
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
#include "client/alloc/ranges.h"
#include "client/alloc/retired.h"

#define ALLOCATOR_UNIT    512u /* alignment of every address */
#define ALLOCATOR_CLASSES 2u

#define ALLOCATOR_OK      0
#define ALLOCATOR_INVALID 1    /* CUDA_ERROR_INVALID_VALUE */
#define ALLOCATOR_FULL    2    /* CUDA_ERROR_OUT_OF_MEMORY */
#define ALLOCATOR_AGAIN   (-1) /* of `map`: memory has become free, try again */

typedef int client_allocator_call(void *user, uint64_t address, uint64_t bytes);
/* Maps a block at *address; without a window *address is 0 and is set. */
typedef int client_allocator_map(void *user, uint64_t *address, uint64_t bytes);

/* Slabs of one kind, and the allocations that go there. */
struct client_slab_class {
    uint64_t below; /* allocations smaller than this; 0: none */
    uint64_t slab_bytes;
    uint32_t unit_bytes;
};

/* The allocation that was found last, to be found again without the lock (a sequence lock): `turn`
 * is odd while the holder of the lock changes the rest. */
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
    struct client_ranges free_ranges; /* addresses of the window that no block has */
    struct ga_list slabs;
    uint64_t free_bytes;           /* in slabs: mapped and not in use */
    struct client_retired retired; /* retired: freed, and the work before has not ended */
    struct ga_list cached;         /* cached: free large blocks, the newest last */
    uint64_t cached_max;           /* limit on bytes cached and retired */
    uint64_t cached_bytes;         /* of the blocks in `cached` */
};

struct client_allocation {
    uint64_t address, bytes; /* as asked for */
    uint64_t owner;
};

/* `granularity`: of mappings; a power of two. `memory_bytes`: of the device. `bytes` 0: there is no
 * window. */
void client_allocator_init(struct client_allocator *allocator, uint64_t base, uint64_t bytes,
                           uint64_t granularity, uint64_t memory_bytes);
/* The size of the first block, for small allocations, which is mapped together with the session. */
uint64_t client_allocator_first_bytes(uint64_t granularity);
/* `bytes` at the start of the window are mapped already, for `owner`; 0: none. To be called before
 * any other function. */
void client_allocator_mapped(struct client_allocator *allocator, uint64_t bytes, uint64_t owner);
/* Only for tests: sessions live as long as the process. */
void client_allocator_fini(struct client_allocator *allocator);

/* Allocates; maps a block if none has room. `bytes` > 0. Errors: those of `map`, ALLOCATOR_FULL. */
int client_allocator_take(struct client_allocator *allocator, uint64_t bytes, uint64_t owner,
                          client_allocator_map *map, void *user, uint64_t *address);

/* First step of freeing with a wait: the allocation is found no more, and its bytes are not reused
 * yet. *unmap_bytes: size of the block that the caller has to unmap; 0: it is a part of a slab.
 * ALLOCATOR_INVALID: no allocation starts there. */
int client_allocator_drain(struct client_allocator *allocator, uint64_t address,
                           uint64_t *unmap_bytes);
/* Second step: no work uses it any more, and its block (if any) is unmapped. One empty slab per
 * owner and kind stays mapped; `unmap` is called for another one. */
void client_allocator_drained(struct client_allocator *allocator, uint64_t address,
                              client_allocator_call *unmap, void *user);

/* Frees without waiting (retires): the allocation is found no more, and its bytes are reused when
 * all work up to `mark` has ended (see settle). Unmaps older cached blocks if the limit would be
 * exceeded. ALLOCATOR_INVALID: no allocation starts there. ALLOCATOR_FULL: the limit would be
 * exceeded all the same; nothing has happened. */
int client_allocator_free(struct client_allocator *allocator, uint64_t address, uint64_t mark,
                          client_allocator_call *unmap, void *user);
/* All work of the owner up to `done` has ended: settles memory that was retired before that. True:
 * memory has become free. */
bool client_allocator_settle(struct client_allocator *allocator, uint64_t owner, uint64_t done,
                             client_allocator_call *unmap, void *user);
/* Whether the owner has retired memory that is not settled. */
bool client_allocator_drains(struct client_allocator *allocator, uint64_t owner);

/* Unmaps every empty slab and every cached block. */
void client_allocator_trim(struct client_allocator *allocator, client_allocator_call *unmap,
                           void *user);
/* Releases everything of an owner, in whatever state; `unmap` is called for each block. */
void client_allocator_drop(struct client_allocator *allocator, uint64_t owner,
                           client_allocator_call *unmap, void *user);

/* Reserves addresses for mappings that are not the allocator's: whole granules, at `wish` if that
 * is free, else anywhere; at a multiple of `alignment` (a power of two, or 0).
 * client_allocator_find finds nothing there. ALLOCATOR_FULL: there is no room, or no window. */
int client_allocator_reserve(struct client_allocator *allocator, uint64_t wish, uint64_t bytes,
                             uint64_t alignment, uint64_t *address);
/* Exactly what one call of client_allocator_reserve has reserved. */
int client_allocator_unreserve(struct client_allocator *allocator, uint64_t address,
                               uint64_t bytes);

/* The live allocation that contains the address. */
bool client_allocator_find(struct client_allocator *allocator, uint64_t address,
                           struct client_allocation *allocation);
/* Whether a block of ours is there, allocated or not. */
bool client_allocator_holds(struct client_allocator *allocator, uint64_t address);
/* Bytes that are mapped and not in use by the program. */
uint64_t client_allocator_free_bytes(struct client_allocator *allocator);

#endif
