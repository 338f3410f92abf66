/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations: device memory, mappings, pinned host memory. Each is a struct sg_range in one
 * ordered set per process; a lookup by address says whether it is device memory. The permission
 * maps of the devices change with the set. All functions want the process's lock held.
 *
 * Note: device address = host address, so the set of ranges alone tells device memory from host
 * memory. */
#ifndef SOFTGPU_MEMORY_RANGES_H
#define SOFTGPU_MEMORY_RANGES_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/handle_table.h"
#include "base/list.h"
#include "softgpu/memory/spans.h"
#include "softgpu/node/shared_chunks.h"
#include "softgpu/process/device.h"

enum sg_range_kind {
    SG_RANGE_LARGE,      /* with chunks of its own */
    SG_RANGE_SMALL,      /* part of a slab */
    SG_RANGE_MAPPED,     /* cuMemMap */
    SG_RANGE_IMPORTED,   /* memory of another process, opened by a handle */
    SG_RANGE_HOST,       /* pinned memory that we allocated */
    SG_RANGE_REGISTERED, /* the application's own memory, registered */
    SG_RANGE_MANAGED,    /* host memory that every device uses, too */
};

struct sg_slab;
struct sg_allocation;

struct sg_range {
    struct sg_span span; /* first */
    enum sg_range_kind kind;
    struct sg_device *device;   /* the device of the memory; NULL: host memory */
    struct sg_context *context; /* borrowed; NULL: it belongs to no context (mapped) */
    struct ga_list in_context;
    bool variable;       /* memory of a module's variable: cuMemFree refuses it */
    bool kept;           /* its place stays taken when it is freed (kept.h) */
    bool pooled;         /* a chunk of a memory pool; front/mempool/ knows its allocations */
    unsigned host_flags; /* of cuMemHostAlloc or cuMemHostRegister */
    bool sync_memops;
    uint64_t id;                      /* unique in the process */
    struct sg_slab *slab;             /* SMALL */
    uint32_t *chunks;                 /* LARGE: owned */
    uint32_t chunk_count;             /* LARGE */
    uint64_t space_base, space_bytes; /* LARGE, HOST, MANAGED, IMPORTED: reserved address space */
    uint64_t exported; /* LARGE, SMALL: the offset of its record (ipc.c) + 1; 0: not exported */
    struct sg_shared_chunks shared;   /* LARGE, IMPORTED */
    uint64_t opened_key;              /* IMPORTED: the key of the record */
    unsigned opens;                   /* IMPORTED: how often it was opened */
    struct sg_allocation *allocation; /* MAPPED */
    uint8_t rights[];                 /* SG_MAP_* per device */
};

struct sg_range *sg_range_find(uint64_t address);

/* A zeroed range, not entered in the set; free() it. NULL: no memory. */
struct sg_range *sg_range_make(void);

/* Enters the range in the set and gives the devices the rights in `range->rights`. */
GA_CHECKED enum ga_status sg_range_enter(struct sg_range *range);

/* Removes the range from the set and takes its rights away. Does not free it. */
void sg_range_leave(struct sg_range *range);
GA_CHECKED enum ga_status sg_range_set_rights(struct sg_range *range, unsigned ordinal,
                                              unsigned rights);

enum sg_place { SG_PLACE_PAGEABLE, SG_PLACE_HOST, SG_PLACE_DEVICE, SG_PLACE_WRONG };

/* The kind of memory in [address, address + bytes). WRONG: it begins in a range and leaves it, or
 * lacks the rights. Neighbouring mappings count as one. bytes 0 counts as 1. `*range`: the first
 * range, or NULL. */
enum sg_place sg_place_of(uint64_t address, uint64_t bytes, unsigned rights,
                          struct sg_range **range);

/* As sg_place_of, for an address that the program names in a call: memory of a pool's chunk must be
 * allocated. (Work that runs later may use memory that was freed meanwhile, in the order of the
 * stream.) */
enum sg_place sg_place_named(uint64_t address, uint64_t bytes, unsigned rights,
                             struct sg_range **range);

/* The state of the process's memory, under the process's lock. */
struct sg_memory {
    struct sg_spans ranges;             /* struct sg_range */
    struct sg_spans reservations;       /* struct sg_reservation */
    struct ga_handle_table allocations; /* struct sg_allocation */
    struct ga_list lingering;           /* those that only other processes use any more */
    uint64_t next_id;
};

extern struct sg_memory sg_memory;

/* Frees the allocations and registrations of `context`. */
void sg_memory_drop_context(struct sg_context *context);

#endif
