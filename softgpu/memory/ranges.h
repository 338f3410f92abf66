/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations: device memory, mappings, pinned host memory. Every one is a struct sg_range in one
 * ordered set per process, which says what an address is; the devices' permission maps are kept
 * along. All functions want the process's lock held.
 *
 * What a reader would get wrong: device address = host address, so the set of ranges is the only
 * thing that tells device memory from host memory. */
#ifndef SOFTGPU_MEMORY_RANGES_H
#define SOFTGPU_MEMORY_RANGES_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/handle_table.h"
#include "base/list.h"
#include "softgpu/memory/spans.h"
#include "softgpu/process/device.h"

enum sg_range_kind {
    SG_RANGE_LARGE,      /* own chunks */
    SG_RANGE_SMALL,      /* a piece of a slab */
    SG_RANGE_MAPPED,     /* cuMemMap */
    SG_RANGE_IMPORTED,   /* another process's, opened by a handle */
    SG_RANGE_HOST,       /* pinned memory that we allocated */
    SG_RANGE_REGISTERED, /* the application's own memory, registered */
    SG_RANGE_MANAGED,    /* of the host, and of every device */
};

struct sg_slab;
struct sg_allocation;

struct sg_range {
    struct sg_span span; /* first */
    enum sg_range_kind kind;
    struct sg_device *device;   /* whose memory; NULL: host memory */
    struct sg_context *context; /* borrowed; NULL: of no context (mapped) */
    struct ga_list in_context;
    bool variable; /* belongs to a module: cuMemFree refuses it */
    bool pooled; /* a chunk of a memory pool: what is allocated of it, front/mempool/mempool.h knows
                  */
    unsigned host_flags; /* of cuMemHostAlloc or cuMemHostRegister */
    bool sync_memops;
    uint64_t id;                      /* unique in the process's life */
    struct sg_slab *slab;             /* SMALL */
    uint32_t *chunks;                 /* LARGE: owned */
    uint32_t chunk_count;             /* LARGE */
    uint64_t space_base, space_bytes; /* LARGE, HOST, MANAGED, IMPORTED: to be released */
    uint64_t exported;                /* LARGE, SMALL: its record (ipc.c) + 1; 0: none */
    uint64_t opened_key;              /* IMPORTED: which record it is of */
    unsigned opens;                   /* IMPORTED */
    struct sg_allocation *allocation; /* MAPPED */
    uint8_t rights[];                 /* SG_MAP_* per device */
};

struct sg_range *sg_range_find(uint64_t address);

/* A zeroed one, not entered; free() it. NULL: no memory. */
struct sg_range *sg_range_make(void);

/* Enters it in the set and gives the rights in `range->rights` to the devices. */
GA_CHECKED enum ga_status sg_range_enter(struct sg_range *range);

/* Takes it out of the set, and its rights away. Does not free it. */
void sg_range_leave(struct sg_range *range);
GA_CHECKED enum ga_status sg_range_set_rights(struct sg_range *range, unsigned ordinal,
                                              unsigned rights);

enum sg_place { SG_PLACE_PAGEABLE, SG_PLACE_HOST, SG_PLACE_DEVICE, SG_PLACE_WRONG };

/* Where [address, address + bytes) lies. WRONG: it begins in a range and leaves it, or lacks the
 * rights. Neighbouring mappings count as one. bytes 0 counts as 1. `*range`: the first, or NULL. */
enum sg_place sg_place_of(uint64_t address, uint64_t bytes, unsigned rights,
                          struct sg_range **range);

/* The same for what the program names in a call: of a pool's chunk it must have been allocated.
 * (What runs later may use memory that has been freed meanwhile, in its order.) */
enum sg_place sg_place_named(uint64_t address, uint64_t bytes, unsigned rights,
                             struct sg_range **range);

/* The part of the process's state that belongs to memory. */
struct sg_memory {
    struct sg_spans ranges;             /* struct sg_range */
    struct sg_spans reservations;       /* struct sg_reservation */
    struct ga_handle_table allocations; /* struct sg_allocation */
    struct ga_list lingering;           /* those that only other processes use */
    uint64_t next_id;
};

extern struct sg_memory sg_memory;

/* Gives back what `context` has allocated or registered. */
void sg_memory_drop_context(struct sg_context *context);

#endif
