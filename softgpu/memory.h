/* Allocations: device memory, mappings, pinned host memory. Every one is a struct sg_range in one
 * ordered set per process, which says what an address is; the devices' permission maps are kept
 * along. All functions want the process's lock held.
 *
 * What a reader would get wrong: device address = host address, so the set of ranges is the only
 * thing that tells device memory from host memory. */
#ifndef SG_MEMORY_H
#define SG_MEMORY_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/handle_table.h"
#include "base/list.h"
#include "softgpu/device.h"
#include "softgpu/spans.h"

#define SG_ALLOC_ALIGN 512

enum sg_range_kind {
    SG_RANGE_LARGE,      /* own chunks */
    SG_RANGE_SMALL,      /* a piece of a slab */
    SG_RANGE_MAPPED,     /* cuMemMap */
    SG_RANGE_HOST,       /* pinned memory that we allocated */
    SG_RANGE_REGISTERED, /* the application's own memory, registered */
};

struct sg_slab;
struct sg_allocation;

struct sg_range {
    struct sg_span span; /* first */
    enum sg_range_kind kind;
    struct sg_device *device;   /* whose memory; NULL: host memory */
    struct sg_context *context; /* borrowed; NULL: of no context (mapped) */
    struct ga_list in_context;
    bool variable;       /* belongs to a module: cuMemFree refuses it */
    unsigned host_flags; /* of cuMemHostAlloc or cuMemHostRegister */
    bool sync_memops;
    uint64_t id;                      /* unique in the process's life */
    struct sg_slab *slab;             /* SMALL */
    uint32_t *chunks;                 /* LARGE: owned */
    uint32_t chunk_count;             /* LARGE */
    uint64_t space_base, space_bytes; /* LARGE, HOST: address space to release */
    struct sg_allocation *allocation; /* MAPPED */
    uint8_t rights[];                 /* SG_MAP_* per device */
};

/* ---- ranges.c: what is at an address ---- */

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

/* ---- heap.c: cuMemAlloc ---- */

CUresult sg_heap_alloc(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                       struct sg_range **range);
/* `range` is LARGE or SMALL; it is freed. */
void sg_heap_free(struct sg_range *range);

/* ---- hostmem.c: pinned host memory ---- */

CUresult sg_host_alloc(struct sg_context *context, uint64_t bytes, unsigned flags,
                       struct sg_range **range);
CUresult sg_host_register(struct sg_context *context, uint64_t address, uint64_t bytes,
                          unsigned flags);
/* HOST or REGISTERED; freed. */
void sg_host_free(struct sg_range *range);

/* ---- vmm.c: address space, physical handles and mappings ---- */

CUresult sg_vmm_reserve(uint64_t wish, uint64_t bytes, uint64_t alignment, uint64_t *address);
CUresult sg_vmm_unreserve(uint64_t address, uint64_t bytes);
CUresult sg_vmm_create(struct sg_device *device, uint64_t bytes, uint64_t *handle);
CUresult sg_vmm_release(uint64_t handle);
CUresult sg_vmm_map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle);
CUresult sg_vmm_unmap(uint64_t address, uint64_t bytes);
CUresult sg_vmm_access(uint64_t address, uint64_t bytes, unsigned ordinal, unsigned rights);

/* The part of the process's state that belongs to memory. */
struct sg_memory {
    struct sg_spans ranges;             /* struct sg_range */
    struct sg_spans reservations;       /* struct sg_reservation */
    struct ga_handle_table allocations; /* struct sg_allocation */
    uint64_t next_id;
};

/* Gives back what `context` has allocated or registered. */
void sg_memory_drop_context(struct sg_context *context);

#endif
