/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations: device memory, mappings, pinned host memory. Every one is a struct sg_range in one
 * ordered set per process, which says what an address is; the devices' permission maps are kept
 * along. All functions want the process's lock held.
 *
 * What a reader would get wrong: device address = host address, so the set of ranges is the only
 * thing that tells device memory from host memory. */
#ifndef SOFTGPU_MEMORY_MEMORY_H
#define SOFTGPU_MEMORY_MEMORY_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/handle_table.h"
#include "base/list.h"
#include "softgpu/memory/spans.h"
#include "softgpu/process/device.h"

#define SG_ALLOC_ALIGN 512

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

/* The same for what the program names in a call: of a pool's chunk it must have been allocated.
 * (What runs later may use memory that has been freed meanwhile, in its order.) */
enum sg_place sg_place_named(uint64_t address, uint64_t bytes, unsigned rights,
                             struct sg_range **range);

/* ---- heap.c: cuMemAlloc ---- */

CUresult sg_heap_alloc(struct sg_device *device, struct sg_context *context, uint64_t bytes,
                       struct sg_range **range);
/* Where the chunks of a LARGE or SMALL range begin, and which they are. */
const uint32_t *sg_heap_chunks(const struct sg_range *range, uint32_t *count, uint64_t *base);
/* `range` is LARGE, SMALL or IMPORTED; it is freed. */
void sg_heap_free(struct sg_range *range);

/* ---- ipc.c: device memory of other processes of the node ---- */

/* What travels in a CUipcMemHandle or a CUipcEventHandle. */
struct sg_ipc_handle {
    uint32_t kind;    /* SG_IPC_* */
    uint32_t index;   /* event: its place */
    uint64_t node;    /* id */
    uint64_t process; /* who exports: sg_node_process */
    uint64_t at;      /* memory: where its record is */
    uint64_t key;     /* memory: random; event: its id */
};
#define SG_IPC_MEMORY UINT32_C(0x31676d65)
#define SG_IPC_EVENT  UINT32_C(0x31677665)

/* Is it an allocation of the program, of this process's memory? */
static inline bool sg_ipc_capable(const struct sg_range *range)
{
    return !range->variable && !range->pooled &&
           (range->kind == SG_RANGE_LARGE || range->kind == SG_RANGE_SMALL);
}
/* `range` is one of these. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_ipc_export(struct sg_range *range, struct sg_ipc_handle *handle);
/* CUDA_ERROR_INVALID_HANDLE: nobody exports that (any more); CUDA_ERROR_INVALID_CONTEXT: this
 * process does; CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: of a device that this process has not. */
CUresult sg_ipc_import(struct sg_context *context, const struct sg_ipc_handle *handle,
                       struct sg_range **range);
/* A chunk of another process's pool of the device. CUDA_ERROR_INVALID_VALUE: nobody exports that
 * (any more), or this process does. */
CUresult sg_ipc_import_pooled(struct sg_device *device, const struct sg_ipc_handle *handle,
                              struct sg_range **range);
/* The range is about to be freed. */
void sg_ipc_withdraw(struct sg_range *range);

/* ---- peer_access.c: which contexts may use the memory of others ---- */

/* CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: of the same device; _ALREADY_ENABLED. */
CUresult sg_peer_enable(struct sg_context *context, struct sg_context *owner);
/* CUDA_ERROR_PEER_ACCESS_NOT_ENABLED. */
CUresult sg_peer_disable(const struct sg_context *context, const struct sg_context *owner);
/* Whether kernels of the context may use what belongs to the owner: it is the same, or a peer. */
bool sg_peer_uses(const struct sg_context *context, const struct sg_context *owner);
/* Adds the rights of peers in memory that the owner is about to get. */
void sg_peer_rights(const struct sg_context *owner, uint8_t *rights);
/* A context ends. */
void sg_peer_drop(const struct sg_context *context);

/* ---- host_memory.c: pinned host memory ---- */

/* Of 0 bytes there is no range: NULL. */
CUresult sg_host_alloc(struct sg_context *context, uint64_t bytes, unsigned flags,
                       struct sg_range **range);
CUresult sg_host_register(struct sg_context *context, uint64_t address, uint64_t bytes,
                          unsigned flags);
/* Memory that host and devices use alike, and at one address. `context` NULL: of none. */
CUresult sg_managed_alloc(struct sg_context *context, uint64_t bytes, struct sg_range **range);
/* HOST, REGISTERED or MANAGED; freed. */
void sg_host_free(struct sg_range *range);

/* ---- vmm.c: address space, physical handles and mappings ---- */

CUresult sg_vmm_reserve(uint64_t wish, uint64_t bytes, uint64_t alignment, uint64_t *address);
CUresult sg_vmm_unreserve(uint64_t address, uint64_t bytes);
CUresult sg_vmm_create(struct sg_device *device, uint64_t bytes, uint64_t *handle);
CUresult sg_vmm_release(uint64_t handle);
CUresult sg_vmm_map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle);
/* `used`: what runs may have addresses of it at hand. */
CUresult sg_vmm_unmap(uint64_t address, uint64_t bytes, bool used);
CUresult sg_vmm_access(uint64_t address, uint64_t bytes, unsigned ordinal, unsigned rights);

/* With a handle that other processes may have, and the descriptor for them (the caller's to close).
 * CUDA_ERROR_INVALID_VALUE: it is none of these. */
void sg_vmm_allow_export(uint64_t handle);
bool sg_vmm_exportable(uint64_t handle);
CUresult sg_vmm_export(uint64_t handle, int *fd);
/* `fd` stays the caller's. CUDA_ERROR_INVALID_VALUE: it is no such descriptor. */
CUresult sg_vmm_import(int fd, uint64_t *handle);
/* Takes back what no other process uses any more. Before anybody looks for free memory. */
void sg_vmm_sweep(void);

/* The allocation that is mapped there: its handle, to be released once more. */
CUresult sg_vmm_retain(uint64_t address, uint64_t *handle);
/* Of a mapping. */
CUresult sg_vmm_rights(uint64_t address, unsigned ordinal, unsigned *rights);
/* Whose memory it is; NULL: no such handle. */
const struct sg_device *sg_vmm_device(uint64_t handle);

/* The part of the process's state that belongs to memory. */
struct sg_memory {
    struct sg_spans ranges;             /* struct sg_range */
    struct sg_spans reservations;       /* struct sg_reservation */
    struct ga_handle_table allocations; /* struct sg_allocation */
    struct ga_list lingering;           /* those that only other processes use */
    uint64_t next_id;
};

/* Gives back what `context` has allocated or registered. */
void sg_memory_drop_context(struct sg_context *context);

#endif
