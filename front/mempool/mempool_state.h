/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools among themselves: what mempool.c does for mempool_calls.c. All under the library's
 * lock. */
#ifndef FRONT_MEMPOOL_MEMPOOL_STATE_H
#define FRONT_MEMPOOL_MEMPOOL_STATE_H

#include "base/list.h"
#include "front/mempool/mempool_chunk.h"

struct mempool {
    struct ga_list link;
    uint64_t handle; /* 0: destroyed; it lives on until its allocations are freed */
    CUdevice device;
    bool first; /* the device's default pool */
    bool follow, opportunistic, internal;
    bool exportable, imported; /* by mempool_share.c */
    uint64_t tag;              /* of what is exported; 0: none yet */
    uint64_t threshold, most;  /* bytes; most 0: as many as the device has */
    uint64_t reserved, reserved_high, used, used_high;
    uint8_t access[]; /* of each device: CUmemAccess_flags */
};

/* NULL: no such pool. */
struct mempool *mempool_of(CUmemoryPool handle);
/* The device exists. CUDA_ERROR_NOT_SUPPORTED: it has no pools. */
CUresult mempool_current(CUdevice device, struct mempool **pool);
CUresult mempool_default(CUdevice device, struct mempool **pool);
void mempool_set_current(struct mempool *pool);
CUresult mempool_create(CUdevice device, uint64_t most, struct mempool **pool);
void mempool_destroy(struct mempool *pool);

/* Memory of another process, `bytes` of which are an allocation from `offset` on, as one of the
 * pool: the pool maps it, and unmaps it as it does its own. */
CUresult mempool_import(struct mempool *pool, const uint8_t shared[FRONT_MEMPOOL_SHARED],
                        uint64_t offset, uint64_t bytes, uint64_t *address);

CUresult mempool_take(struct mempool *pool, const struct front_stream *stream, uint64_t bytes,
                      uint64_t *address);
/* Frees in the order of the stream; NULL: nothing uses it. CUDA_ERROR_INVALID_VALUE: nothing was
 * allocated there. */
CUresult mempool_give(uint64_t address, const struct front_stream *stream);
/* Gives chunks back that nothing uses, as long as `keep` bytes stay. */
void mempool_trim(struct mempool *pool, uint64_t keep);
CUresult mempool_access(struct mempool *pool, CUdevice by, CUmemAccess_flags flags);

static inline CUmemoryPool mempool_handle(const struct mempool *pool)
{
    return (CUmemoryPool)(uintptr_t)pool->handle;
}

#endif
