/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: the source of an allocation, and the release of unused memory. Sources are tried
 * in this order: free memory of the stream, or of streams whose work is known to be done; new
 * memory; free memory of another stream, for which the allocating stream then waits; memory of
 * other streams that turns out to be done with; unused memory of the device's other pools. */
#include "front/mempool/mempool_state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle_table.h"
#include "front/front.h"

#define POOLS_MAX    65536u
#define GENEROUS_MAX (UINT64_C(32) << 20) /* a pool grows by half of its size, at most by this */

struct device_pools {
    struct mempool *first, *current;
};

static struct ga_list pools;
static struct ga_handle_table handles;
static struct device_pools *devices; /* NULL: no pool has been made yet */
static int device_count;
static uint64_t last_serial;
static atomic_bool due; /* memory may be released: some was freed, or a threshold was set */

static bool state_make(void)
{
    if (devices == NULL && front_host.device_count(&device_count) == CUDA_SUCCESS) {
        ga_list_init(&pools);
        mempool_host = front_host.mempool;
        ga_handle_table_init(&handles, GA_HANDLE_MEMPOOL, POOLS_MAX);
        devices = calloc((size_t)device_count, sizeof *devices);
    }
    return devices != NULL;
}

struct mempool *mempool_of(CUmemoryPool handle)
{
    return devices != NULL ? ga_handle_table_find(&handles, (uint64_t)(uintptr_t)handle) : NULL;
}

static void attributes_first(struct mempool *pool)
{
    pool->follow = pool->opportunistic = pool->internal = true;
    pool->threshold = 0;
    memset(pool->access, CU_MEM_ACCESS_FLAGS_PROT_NONE, (size_t)device_count);
    pool->access[pool->device] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

CUresult mempool_create(CUdevice device, uint64_t most, struct mempool **pool)
{
    int supported = 0;
    CUresult rc =
        front_host.device_attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &supported);
    if (rc != CUDA_SUCCESS || supported == 0) {
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_NOT_SUPPORTED;
    }
    struct mempool *made = state_make() ? calloc(1, sizeof *made + (size_t)device_count) : NULL;
    if (made == NULL || ga_handle_table_make(&handles, made, &made->handle) != GA_OK) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->device = device;
    made->most = most;
    attributes_first(made);
    ga_list_append(&pools, &made->link);
    *pool = made;
    return CUDA_SUCCESS;
}

CUresult mempool_default(CUdevice device, struct mempool **pool)
{
    if (devices != NULL && devices[device].first != NULL) {
        *pool = devices[device].first;
        return CUDA_SUCCESS;
    }
    CUresult rc = mempool_create(device, 0, pool);
    if (rc == CUDA_SUCCESS) {
        (*pool)->first = true;
        devices[device].first = devices[device].current = *pool;
    }
    return rc;
}

CUresult mempool_current(CUdevice device, struct mempool **pool)
{
    CUresult rc = mempool_default(device, pool);
    if (rc == CUDA_SUCCESS) {
        *pool = devices[device].current;
    }
    return rc;
}

void mempool_set_current(struct mempool *pool)
{
    struct mempool *first;
    if (mempool_default(pool->device, &first) == CUDA_SUCCESS) {
        devices[pool->device].current = pool;
    }
}

/* ---- chunks */

static void chunk_leave(size_t at)
{
    struct mempool_chunk *chunk = mempool_chunks[at];
    chunk->pool->reserved -= chunk->bytes;
    chunk->pool->used -= chunk->used;
    mempool_host->unmap(chunk->pool->device, chunk->start, chunk->bytes);
    mempool_chunk_destroy(at);
}

static CUresult chunk_access(const struct mempool_chunk *chunk, CUdevice by,
                             CUmemAccess_flags flags)
{
    return mempool_host->access(chunk->pool->device, chunk->start, chunk->bytes, by, flags);
}

/* Enters a mapped chunk. On failure it stays mapped, perhaps in the pool. */
static CUresult chunk_enter(struct mempool *pool, uint64_t start, uint64_t bytes)
{
    CUresult rc = CUDA_SUCCESS;
    if (!mempool_chunk_create(pool, start, bytes)) {
        mempool_host->unmap(pool->device, start, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->reserved += bytes;
    pool->reserved_high =
        pool->reserved > pool->reserved_high ? pool->reserved : pool->reserved_high;
    for (CUdevice by = 0; rc == CUDA_SUCCESS && by < device_count; by++) {
        if (by != pool->device && pool->access[by] != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
            rc = chunk_access(mempool_chunk_at(start), by, (CUmemAccess_flags)pool->access[by]);
        }
    }
    return rc;
}

static CUresult mempool_grow(struct mempool *pool, uint64_t bytes)
{
    uint64_t start = 0;
    if (pool->most != 0 && (bytes > pool->most || pool->reserved > pool->most - bytes)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = mempool_host->map(pool->device, bytes, &start);
    return rc == CUDA_SUCCESS ? chunk_enter(pool, start, bytes) : rc;
}

static uint64_t mempool_rounded(uint64_t bytes)
{
    return (bytes + FRONT_MEMPOOL_UNIT - 1) & ~(uint64_t)(FRONT_MEMPOOL_UNIT - 1);
}

/* Cuts the one allocation of an imported chunk. The memory beside it is never given out. NULL:
 * no memory. */
static struct mempool_block *mempool_cut(struct mempool_chunk *chunk, uint64_t offset,
                                         uint64_t bytes)
{
    struct mempool_block *block = &chunk->blocks[0];
    if (offset != 0) {
        block = mempool_chunk_take(chunk, block, offset);
        block = block != NULL ? block + 1 : NULL;
    }
    block = block != NULL ? mempool_chunk_take(chunk, block, bytes) : NULL;
    chunk->used = block != NULL ? bytes : 0;
    return block;
}

CUresult mempool_import(struct mempool *pool, const uint8_t shared[FRONT_MEMPOOL_SHARED],
                        uint64_t offset, uint64_t bytes, uint64_t *address)
{
    uint64_t start, chunk_bytes;
    if (bytes == 0 || mempool_rounded(bytes) < bytes || offset % FRONT_MEMPOOL_UNIT != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = mempool_host->open(pool->device, shared, &start, &chunk_bytes);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (offset >= chunk_bytes || mempool_rounded(bytes) > chunk_bytes - offset) {
        mempool_host->unmap(pool->device, start, chunk_bytes);
        return CUDA_ERROR_INVALID_VALUE;
    }
    rc = chunk_enter(pool, start, chunk_bytes);
    struct mempool_chunk *chunk = mempool_chunk_at(start);
    struct mempool_block *block =
        rc == CUDA_SUCCESS ? mempool_cut(chunk, offset, mempool_rounded(bytes)) : NULL;
    if (block == NULL) {
        mempool_trim(pool, 0); /* nothing is allocated in it */
        return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->asked = bytes;
    block->serial = ++last_serial;
    pool->used += block->bytes;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    *address = block->start;
    return CUDA_SUCCESS;
}

static CUresult grow_generously(struct mempool *pool, uint64_t bytes)
{
    uint64_t least = (bytes + FRONT_MEMPOOL_PIECE - 1) & ~(FRONT_MEMPOOL_PIECE - 1);
    uint64_t more = pool->reserved / 2 & ~(FRONT_MEMPOOL_PIECE - 1);
    if (least < bytes) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    more = more < GENEROUS_MAX ? more : GENEROUS_MAX;
    CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
    if (more > least) {
        rc = mempool_grow(pool, more);
    }
    return rc == CUDA_ERROR_OUT_OF_MEMORY ? mempool_grow(pool, least) : rc;
}

/* ---- allocating */

/* The smallest fitting block of the pool; `stream` as in mempool_chunk_fit. */
static struct mempool_block *pool_fit(const struct mempool *pool, uint64_t bytes, uint64_t stream,
                                      struct mempool_chunk **chunk)
{
    struct mempool_block *best = NULL;
    for (size_t i = 0; i < mempool_chunk_count; i++) {
        struct mempool_block *block = mempool_chunks[i]->pool == pool
                                          ? mempool_chunk_fit(mempool_chunks[i], bytes, stream)
                                          : NULL;
        if (block != NULL && (best == NULL || block->bytes < best->bytes)) {
            best = block;
            *chunk = mempool_chunks[i];
        }
    }
    return best;
}

/* Takes free memory of another stream, for which the allocating stream waits: it has none of its
 * own, and new memory cannot be had. */
static CUresult mempool_adopt(const struct mempool *pool, const struct front_stream *stream,
                              uint64_t bytes)
{
    struct mempool_chunk *chunk;
    struct mempool_block *block = pool->internal ? pool_fit(pool, bytes, 0, &chunk) : NULL;
    if (block == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (block->mark != NULL) {
        CUresult rc = mempool_host->wait(stream, block->mark);
        void *mark = rc == CUDA_SUCCESS ? mempool_host->mark(stream) : NULL;
        if (mark == NULL) {
            return rc != CUDA_SUCCESS ? rc : CUDA_ERROR_OUT_OF_MEMORY;
        }
        mempool_host->drop(block->mark);
        block->mark = mark;
        block->serial = ++last_serial;
    }
    block->stream = stream->id;
    return CUDA_SUCCESS;
}

static void sweep(const struct mempool *pool, bool ask)
{
    for (size_t i = 0; i < mempool_chunk_count; i++) {
        if (mempool_chunks[i]->pool == pool) {
            mempool_chunk_sweep(mempool_chunks[i], pool->opportunistic, ask);
        }
    }
}

/* Releases unused chunks, but keeps `keep` bytes. */
static void mempool_trim_chunks(struct mempool *pool, uint64_t keep, bool ask)
{
    sweep(pool, ask);
    for (size_t i = mempool_chunk_count; i-- > 0;) {
        const struct mempool_chunk *chunk = mempool_chunks[i];
        if (chunk->pool == pool && mempool_chunk_idle(chunk) && chunk->bytes <= pool->reserved &&
            pool->reserved - chunk->bytes >= keep) {
            chunk_leave(i);
        }
    }
}

/* Releases unused memory of all pools of the device. */
static void trim_all(CUdevice device)
{
    ga_list_each (at, following, &pools) {
        struct mempool *pool = ga_container(at, struct mempool, link);
        if (pool->device == device) {
            mempool_trim_chunks(pool, 0, true);
        }
    }
}

/* Makes room for the allocation. */
static CUresult mempool_make_room(struct mempool *pool, const struct front_stream *stream,
                                  uint64_t bytes)
{
    CUresult rc = grow_generously(pool, bytes);
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
        rc = mempool_adopt(pool, stream, bytes);
    }
    struct mempool_chunk *chunk;
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
        sweep(pool, true);
        rc = pool_fit(pool, bytes, stream->id, &chunk) != NULL ? CUDA_SUCCESS : rc;
    }
    if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
        trim_all(pool->device); /* released small chunks may leave room for a larger one */
        rc = grow_generously(pool, bytes);
    }
    return rc;
}

CUresult mempool_take(struct mempool *pool, const struct front_stream *stream, uint64_t bytes,
                      uint64_t *address)
{
    const uint64_t whole = mempool_rounded(bytes);
    struct mempool_chunk *chunk = NULL;
    if (whole < bytes || pool->imported) { /* only the exporting process allocates there */
        return pool->imported ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct mempool_block *block = pool_fit(pool, whole, stream->id, &chunk);
    if (block == NULL) {
        sweep(pool, false);
        block = pool_fit(pool, whole, stream->id, &chunk);
    }
    if (block == NULL) {
        CUresult rc = mempool_make_room(pool, stream, whole);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
        block = pool_fit(pool, whole, stream->id, &chunk);
    }
    block = block != NULL ? mempool_chunk_take(chunk, block, whole) : NULL;
    if (block == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->asked = bytes;
    block->serial = ++last_serial;
    pool->used += whole;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    *address = block->start;
    return CUDA_SUCCESS;
}

/* ---- freeing */

CUresult mempool_give(uint64_t address, const struct front_stream *stream)
{
    struct mempool_chunk *chunk;
    struct mempool_block *block = mempool_chunk_live(address, &chunk);
    if (block == NULL || block->start != address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    void *mark = stream != NULL ? mempool_host->mark(stream) : NULL;
    if (stream != NULL && mark == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    chunk->pool->used -= block->bytes;
    mempool_chunk_give(chunk, block, stream != NULL ? stream->id : 0, ++last_serial, mark);
    atomic_store(&due, true);
    return CUDA_SUCCESS;
}

void mempool_trim(struct mempool *pool, uint64_t keep)
{
    mempool_trim_chunks(pool, keep, false);
}

void mempool_set_threshold(struct mempool *pool, uint64_t bytes)
{
    pool->threshold = bytes;
    atomic_store(&due, true);
}

/* Frees a destroyed pool with its last chunk. */
static void pool_end(struct mempool *pool)
{
    if (pool->handle == 0) {
        mempool_trim(pool, 0);
        if (pool->reserved == 0) {
            ga_list_remove(&pool->link);
            free(pool);
        }
    }
}

void mempool_destroy(struct mempool *pool)
{
    struct device_pools *device = &devices[pool->device];
    device->current = device->current == pool ? device->first : device->current;
    ga_handle_table_remove(&handles, pool->handle);
    pool->handle = 0;
    pool_end(pool);
}

CUresult mempool_access(struct mempool *pool, CUdevice by, CUmemAccess_flags flags)
{
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS && i < mempool_chunk_count; i++) {
        if (mempool_chunks[i]->pool == pool) {
            rc = chunk_access(mempool_chunks[i], by, flags);
        }
    }
    if (rc == CUDA_SUCCESS) {
        pool->access[by] = (uint8_t)flags;
    }
    return rc;
}

/* ---- for the library */

bool front_mempool_find(uint64_t address, struct front_mempool_found *found)
{
    struct mempool_chunk *chunk;
    const struct mempool_block *block = mempool_chunk_live(address, &chunk);
    if (block != NULL) {
        *found = (struct front_mempool_found){.start = block->start,
                                              .bytes = block->asked,
                                              .device = chunk->pool->device,
                                              .pool = mempool_handle(chunk->pool),
                                              .id = block->serial};
    }
    return block != NULL;
}

bool front_mempool_free(uint64_t address)
{
    return mempool_give(address, NULL) == CUDA_SUCCESS;
}

bool front_mempool_release(CUdevice device)
{
    bool pending = false;
    if (devices == NULL) {
        return false;
    }
    trim_all(device);
    for (size_t i = 0; i < mempool_chunk_count; i++) {
        pending |=
            mempool_chunks[i]->pool->device == device && mempool_chunk_pending(mempool_chunks[i]);
    }
    return pending;
}

void front_mempool_reset(CUdevice device)
{
    for (size_t i = mempool_chunk_count; i-- > 0;) {
        if (mempool_chunks[i]->pool->device == device) {
            chunk_leave(i);
        }
    }
    if (devices == NULL) {
        return;
    }
    ga_list_each (at, following, &pools) {
        struct mempool *pool = ga_container(at, struct mempool, link);
        if (pool->device == device && pool->first) {
            attributes_first(pool);
            pool->reserved_high = pool->used_high = 0;
        } else if (pool->device == device && pool->handle != 0) {
            mempool_destroy(pool);
        } else {
            pool_end(pool);
        }
    }
}

void front_mempool_synchronized(void)
{
    if (!atomic_load_explicit(&due, memory_order_relaxed) ||
        front_host.mempool->enter() != CUDA_SUCCESS) {
        return;
    }
    bool more = false;
    ga_list_each (at, following, &pools) {
        struct mempool *pool = ga_container(at, struct mempool, link);
        uint64_t threshold = pool->threshold;
        if (pool->handle == 0) {
            pool_end(pool);
        } else if (pool->reserved > threshold) {
            mempool_trim(pool, threshold);
            more |= pool->reserved > threshold && pool->reserved > pool->used;
        }
    }
    atomic_store_explicit(&due, more, memory_order_relaxed);
    front_host.mempool->leave();
}
