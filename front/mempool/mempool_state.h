/* SPDX-License-Identifier: Apache-2.0 */
/* The internal interface of memory pools: functions of mempool.c for mempool_calls.c. All under
 * the library's lock. */
#ifndef FRONT_MEMPOOL_MEMPOOL_STATE_H
#define FRONT_MEMPOOL_MEMPOOL_STATE_H

#include "base/list.h"
#include "front/mempool/mempool_chunk.h"

struct mempool {
    struct ga_list link;
    uint64_t handle; /* 0: destroyed; freed with its last allocation */
    CUdevice device;
    bool first; /* the device's default pool */
    bool follow, opportunistic, internal;
    bool exportable, imported; /* set by mempool_share.c */
    uint64_t tag;              /* of exports; 0: none yet */
    uint64_t threshold, most;  /* bytes; most 0: the size of the device */
    uint64_t reserved, reserved_high, used, used_high;
    uint8_t access[]; /* of each device: CUmemAccess_flags */
};

/* NULL: no such pool. */
struct mempool *mempool_of(CUmemoryPool handle);
/* The current pool of an existing device. CUDA_ERROR_NOT_SUPPORTED: it has no pools. */
CUresult mempool_current(CUdevice device, struct mempool **pool);
CUresult mempool_default(CUdevice device, struct mempool **pool);
void mempool_set_current(struct mempool *pool);
CUresult mempool_create(CUdevice device, uint64_t most, struct mempool **pool);
void mempool_destroy(struct mempool *pool);

/* Imports memory of another process, whose `bytes` from `offset` on are an allocation, into the
 * pool. The pool maps and unmaps it as its own. */
CUresult mempool_import(struct mempool *pool, const uint8_t shared[FRONT_MEMPOOL_SHARED],
                        uint64_t offset, uint64_t bytes, uint64_t *address);

CUresult mempool_take(struct mempool *pool, const struct front_stream *stream, uint64_t bytes,
                      uint64_t *address);
/* Frees in the order of the stream; NULL: no work uses the memory. CUDA_ERROR_INVALID_VALUE:
 * there is no allocation at the address. */
CUresult mempool_give(uint64_t address, const struct front_stream *stream);
/* The program's next wait releases what is above. */
void mempool_set_threshold(struct mempool *pool, uint64_t bytes);
/* Releases unused chunks, but keeps `keep` bytes. */
void mempool_trim(struct mempool *pool, uint64_t keep);
CUresult mempool_access(struct mempool *pool, CUdevice by, CUmemAccess_flags flags);

static inline CUmemoryPool mempool_handle(const struct mempool *pool)
{
    return (CUmemoryPool)(uintptr_t)pool->handle;
}

#endif
