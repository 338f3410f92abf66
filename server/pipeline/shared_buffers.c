/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of memory that an application has shared with its backend process. */
#include "server/pipeline/shared_buffers.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "api/constants.h"
#include "base/shared_memory.h"
#include "server/pipeline/staging.h"

static CUresult shared_buffer_map(int fd, uint64_t bytes, uint8_t **memory)
{
    void *at = ga_shared_memory_map(fd, bytes, NULL);
    if (at == NULL) { /* or it has been made read-only */
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void)madvise(at, bytes, MADV_DONTFORK);
    *memory = at;
    return CUDA_SUCCESS;
}

/* A number that is free, for so many bytes. */
static CUresult piece_new(struct shared_buffers *shared_buffers, uint32_t number, uint64_t bytes,
                          struct shared_buffer **piece)
{
    if (shared_buffers->buffers == NULL) {
        shared_buffers->buffers = calloc(API_SHARED_BUFFERS_MAX, sizeof *shared_buffers->buffers);
    }
    if (shared_buffers->buffers == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (number >= API_SHARED_BUFFERS_MAX || shared_buffers->buffers[number].bytes != 0 ||
        bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *piece = &shared_buffers->buffers[number];
    return bytes <= shared_buffers->most - shared_buffers->bytes ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shared_buffer_open(struct shared_buffers *shared_buffers, const struct cuda_driver *driver,
                            CUdevice device, uint32_t number, int fd, uint64_t bytes,
                            uint64_t inode)
{
    struct shared_buffer *piece;
    if (bytes % 4096 != 0 || !ga_shared_memory_is(fd, bytes) ||
        ga_shared_memory_inode(fd) != inode) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint8_t *memory = NULL;
    CU_TRY(piece_new(shared_buffers, number, bytes, &piece));
    CU_TRY(ledger_charge(shared_buffers->ledger, FIGURE_SHARED_BYTES, bytes));
    CUresult rc = shared_buffer_map(fd, bytes, &memory);
    if (rc == CUDA_SUCCESS) {
        rc = staging_register(driver, shared_buffers->ledger, device, memory, bytes);
        if (rc != CUDA_SUCCESS) {
            munmap(memory, bytes);
        }
    }
    if (rc != CUDA_SUCCESS) {
        ledger_return(shared_buffers->ledger, FIGURE_SHARED_BYTES, bytes);
        return rc;
    }
    *piece = (struct shared_buffer){.memory = memory, .bytes = bytes, .device = device};
    shared_buffers->bytes += bytes;
    return CUDA_SUCCESS;
}

CUresult shared_buffer_reach(struct shared_buffers *shared_buffers, uint32_t number, uint64_t bytes,
                             uint64_t address, uint32_t key)
{
    struct shared_buffer *piece;
    if (bytes > UINT64_MAX - address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(piece_new(shared_buffers, number, bytes, &piece));
    *piece = (struct shared_buffer){.address = address, .key = key, .bytes = bytes};
    shared_buffers->bytes += bytes;
    return CUDA_SUCCESS;
}

CUresult shared_buffer_close(struct shared_buffers *shared_buffers, uint32_t number,
                             struct shared_buffer *closed)
{
    struct shared_buffer *piece = shared_buffer_find(shared_buffers, number, 0, 0);
    if (piece == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (atomic_load_explicit(&piece->uses, memory_order_acquire) != 0) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    *closed = (struct shared_buffer){
        .memory = piece->memory, .bytes = piece->bytes, .device = piece->device};
    *piece = (struct shared_buffer){.bytes = 0};
    return CUDA_SUCCESS;
}

CUresult shared_buffer_unpin(const struct cuda_driver *driver, const struct shared_buffer *closed)
{
    return closed->memory != NULL ? staging_unregister(driver, closed->device, closed->memory)
                                  : CUDA_SUCCESS;
}

void shared_buffer_unpinned(struct shared_buffers *shared_buffers, const struct cuda_driver *driver,
                            const struct shared_buffer *closed, CUresult rc)
{
    shared_buffers->bytes -= closed->bytes;
    if (closed->memory != NULL && rc == CUDA_SUCCESS) {
        staging_unregistered(driver, shared_buffers->ledger, closed->device);
        munmap(closed->memory, closed->bytes);
        ledger_return(shared_buffers->ledger, FIGURE_SHARED_BYTES, closed->bytes);
    } /* else the driver may use it: it stays until the process ends */
}

void shared_buffers_fini(struct shared_buffers *shared_buffers, const struct cuda_driver *driver)
{
    for (uint32_t i = 0; shared_buffers->buffers != NULL && i < API_SHARED_BUFFERS_MAX; i++) {
        struct shared_buffer *piece = &shared_buffers->buffers[i], closed;
        atomic_store(&piece->uses, 0); /* of a copy that was given up */
        if (piece->bytes != 0 && shared_buffer_close(shared_buffers, i, &closed) == CUDA_SUCCESS) {
            shared_buffer_unpinned(shared_buffers, driver, &closed,
                                   shared_buffer_unpin(driver, &closed));
        }
    }
    free(shared_buffers->buffers);
    shared_buffers->buffers = NULL;
}

struct shared_buffer *shared_buffer_find(const struct shared_buffers *shared_buffers,
                                         uint32_t number, uint64_t offset, uint64_t bytes)
{
    if (shared_buffers->buffers == NULL || number >= API_SHARED_BUFFERS_MAX) {
        return NULL;
    }
    struct shared_buffer *piece = &shared_buffers->buffers[number];
    return piece->bytes != 0 && bytes <= piece->bytes && offset <= piece->bytes - bytes ? piece
                                                                                        : NULL;
}
