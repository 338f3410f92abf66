/* Pieces of memory that an application has shared with its backend process. */
#include "server/pipeline/shared_buffers.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/shared_memory.h"
#include "server/pipeline/staging.h"

static CUresult map(int fd, uint64_t bytes, uint8_t **memory)
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
static CUresult piece_new(struct server_arena *arena, uint32_t number, uint64_t bytes,
                          struct arena_piece **piece)
{
    if (arena->pieces == NULL) {
        arena->pieces = calloc(ARENA_PIECES_MOST, sizeof *arena->pieces);
    }
    if (arena->pieces == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (number >= ARENA_PIECES_MOST || arena->pieces[number].bytes != 0 || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *piece = &arena->pieces[number];
    return bytes <= arena->most - arena->bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult arena_open(struct server_arena *arena, const struct cuda_driver *driver, CUdevice device,
                    uint32_t number, int fd, uint64_t bytes, uint64_t inode)
{
    struct arena_piece *piece;
    if (bytes % 4096 != 0 || !ga_shared_memory_is(fd, bytes) ||
        ga_shared_memory_inode(fd) != inode) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = piece_new(arena, number, bytes, &piece);
    uint8_t *memory = NULL;
    if (rc == CUDA_SUCCESS) {
        rc = map(fd, bytes, &memory);
    }
    if (rc == CUDA_SUCCESS) {
        rc = staging_register(driver, device, memory, bytes);
        if (rc != CUDA_SUCCESS) {
            munmap(memory, bytes);
        }
    }
    if (rc == CUDA_SUCCESS) {
        *piece = (struct arena_piece){.memory = memory, .bytes = bytes, .device = device};
        arena->bytes += bytes;
    }
    return rc;
}

CUresult arena_reach(struct server_arena *arena, uint32_t number, uint64_t bytes, uint64_t address,
                     uint32_t key)
{
    struct arena_piece *piece;
    if (bytes > UINT64_MAX - address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = piece_new(arena, number, bytes, &piece);
    if (rc == CUDA_SUCCESS) {
        *piece = (struct arena_piece){.address = address, .key = key, .bytes = bytes};
        arena->bytes += bytes;
    }
    return rc;
}

CUresult arena_close(struct server_arena *arena, const struct cuda_driver *driver, uint32_t number)
{
    struct arena_piece *piece = arena_find(arena, number, 0, 0);
    if (piece == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (atomic_load_explicit(&piece->uses, memory_order_acquire) != 0) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    CUresult rc = CUDA_SUCCESS;
    if (piece->memory != NULL) {
        rc = staging_unregister(driver, piece->device, piece->memory);
        if (rc == CUDA_SUCCESS) { /* else the driver may use it: it stays until the process ends */
            munmap(piece->memory, piece->bytes);
        }
    }
    arena->bytes -= piece->bytes;
    *piece = (struct arena_piece){.bytes = 0};
    return rc;
}

struct arena_piece *arena_find(const struct server_arena *arena, uint32_t number, uint64_t offset,
                               uint64_t bytes)
{
    if (arena->pieces == NULL || number >= ARENA_PIECES_MOST) {
        return NULL;
    }
    struct arena_piece *piece = &arena->pieces[number];
    return piece->bytes != 0 && bytes <= piece->bytes && offset <= piece->bytes - bytes ? piece
                                                                                        : NULL;
}
