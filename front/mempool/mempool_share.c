/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools of other processes. A pool is exported as a file descriptor that identifies the
 * pool. An allocation is exported as bytes: its place in a chunk, and the data that the library
 * needs to map the chunk.
 *
 * Note: the descriptor holds no memory. The importer maps each allocation by its bytes. */
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "front/front.h"
#include "front/mempool/mempool_state.h"

#define POOL_MAGIC    UINT64_C(0x316c6f6f70756770)
#define POINTER_MAGIC UINT32_C(0x31706770)

struct record {
    uint64_t magic, tag;
    uint8_t uuid[16]; /* of the device */
};

/* The content of a CUmemPoolPtrExportData. The tag tells allocations of one pool from those of
 * others; the library decides who may map the memory. */
struct pointer {
    uint32_t magic, tag;
    uint64_t offset, bytes; /* in the chunk */
    uint8_t shared[FRONT_MEMPOOL_SHARED];
};
_Static_assert(sizeof(struct pointer) == sizeof(CUmemPoolPtrExportData), "it travels in one");

static CUresult mempool_share_leave(CUresult rc)
{
    front_host.mempool->leave();
    return rc;
}

static bool arguments_good(const void *out, CUmemAllocationHandleType type, uint64_t flags)
{
    return out != NULL && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && flags == 0;
}

/* ---- pools */

static CUresult tag_make(struct mempool *pool)
{
    while (pool->tag == 0) {
        if (getrandom(&pool->tag, sizeof pool->tag, 0) != (ssize_t)sizeof pool->tag) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult mempool_file_make(struct mempool *pool, int *out)
{
    struct front_device facts;
    CUresult rc = front_host.device(pool->device, &facts);
    if (rc == CUDA_SUCCESS) {
        rc = tag_make(pool);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct record record = {.magic = POOL_MAGIC, .tag = pool->tag};
    memcpy(record.uuid, facts.uuid, sizeof record.uuid);
    int fd = memfd_create("gpuaas-pool", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, &record, sizeof record) != (ssize_t)sizeof record) {
        close(fd);
        fd = -1;
    }
    *out = fd;
    return fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool,
                                                  CUmemAllocationHandleType handleType,
                                                  unsigned long long flags)
{
    int fd;
    CUresult rc = front_host.mempool->enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct mempool *found = mempool_of(pool);
    if (!arguments_good(handle_out, handleType, flags) || found == NULL || !found->exportable) {
        return mempool_share_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = mempool_file_make(found, &fd);
    if (rc == CUDA_SUCCESS) {
        memcpy(handle_out, &fd, sizeof fd);
    }
    return mempool_share_leave(rc);
}

static bool mempool_record_read(int fd, struct record *record)
{
    return lseek(fd, 0, SEEK_END) == (off_t)sizeof *record &&
           pread(fd, record, sizeof *record, 0) == (ssize_t)sizeof *record &&
           record->magic == POOL_MAGIC && record->tag != 0;
}

/* False: this process does not have the device. */
static bool mempool_device_of(const uint8_t uuid[16], CUdevice *device)
{
    int count = 0;
    bool found = false;
    struct front_device facts;
    if (front_host.device_count(&count) != CUDA_SUCCESS) {
        return false;
    }
    for (CUdevice i = 0; !found && i < count; i++) {
        found = front_host.device(i, &facts) == CUDA_SUCCESS &&
                memcmp(facts.uuid, uuid, sizeof facts.uuid) == 0;
        *device = i;
    }
    return found;
}

CUresult CUDAAPI cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                    CUmemAllocationHandleType handleType,
                                                    unsigned long long flags)
{
    struct record record;
    struct mempool *made;
    CUdevice device;
    uintptr_t fd = (uintptr_t)handle; /* the descriptor itself */
    CUresult rc = front_host.mempool->enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (!arguments_good(pool_out, handleType, flags) || fd > INT_MAX ||
        !mempool_record_read((int)fd, &record)) {
        return mempool_share_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = mempool_device_of(record.uuid, &device) ? mempool_create(device, 0, &made)
                                                 : CUDA_ERROR_INVALID_DEVICE;
    if (rc == CUDA_SUCCESS) {
        made->imported = true;
        made->tag = record.tag;
        *pool_out = mempool_handle(made);
    }
    return mempool_share_leave(rc);
}

/* ---- allocations */

CUresult CUDAAPI cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    struct mempool_chunk *chunk;
    CUresult rc = front_host.mempool->enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct mempool_block *block = mempool_chunk_live(ptr, &chunk);
    if (shareData_out == NULL || block == NULL || block->start != ptr || !chunk->pool->exportable) {
        return mempool_share_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = tag_make(chunk->pool);
    struct pointer pointer = {.magic = POINTER_MAGIC,
                              .tag = (uint32_t)chunk->pool->tag,
                              .offset = block->start - chunk->start,
                              .bytes = block->asked};
    if (rc == CUDA_SUCCESS) {
        rc = mempool_host->share(chunk->pool->device, chunk->start, chunk->bytes, pointer.shared);
    }
    if (rc == CUDA_SUCCESS) {
        memcpy(shareData_out, &pointer, sizeof pointer);
    }
    return mempool_share_leave(rc);
}

CUresult CUDAAPI cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool,
                                        CUmemPoolPtrExportData *shareData)
{
    struct pointer pointer;
    uint64_t address;
    CUresult rc = front_host.mempool->enter();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct mempool *found = mempool_of(pool);
    if (ptr_out == NULL || shareData == NULL || found == NULL || !found->imported) {
        return mempool_share_leave(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(&pointer, shareData, sizeof pointer);
    if (pointer.magic != POINTER_MAGIC || pointer.tag != (uint32_t)found->tag) {
        return mempool_share_leave(CUDA_ERROR_INVALID_VALUE); /* of another pool, or not exported */
    }
    rc = mempool_import(found, pointer.shared, pointer.offset, pointer.bytes, &address);
    if (rc == CUDA_SUCCESS) {
        *ptr_out = address;
    }
    return mempool_share_leave(rc);
}
