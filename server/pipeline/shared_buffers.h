/* Memory that the application shares with its backend process: on one machine, where the driver
 * copies between it and the GPU, or on another one, where a network card reaches it and copies
 * between it and staging slots. No byte goes through the connection.
 *
 * The other process may write there whenever it likes: what lies there is data of copies and never
 * looked at. It cannot take the memory away (base/shared_memory.h), and we do not as long as a copy
 * is on its way. */
#ifndef SERVER_PIPELINE_SHARED_BUFFERS_H
#define SERVER_PIPELINE_SHARED_BUFFERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "server/backend/driver.h"

#define ARENA_PIECES_MOST 1024u

struct arena_piece {
    uint8_t *memory;  /* mapped here; NULL: it is the card that reaches it, */
    uint64_t address; /* by these */
    uint32_t key;
    uint64_t bytes;        /* 0: free */
    CUdevice device;       /* in whose primary context it is pinned, when it is mapped */
    _Atomic uint32_t uses; /* copies on their way */
};

struct server_arena {           /* of the submit thread, but for `uses` */
    struct arena_piece *pieces; /* ARENA_PIECES_MOST; NULL: none yet */
    uint64_t bytes, most;       /* of all; allowed */
};

/* Maps and pins what `fd` (the caller's) is. CUDA_ERROR_INVALID_VALUE: it is no such memory.
 * CUDA_ERROR_OUT_OF_MEMORY: it would be more than is allowed, or than there is. */
CUresult arena_open(struct server_arena *arena, const struct cuda_driver *driver, CUdevice device,
                    uint32_t number, int fd, uint64_t bytes, uint64_t inode);
/* What the network card reaches by this address and key. The same errors. */
CUresult arena_reach(struct server_arena *arena, uint32_t number, uint64_t bytes, uint64_t address,
                     uint32_t key);
/* CUDA_ERROR_ILLEGAL_STATE: a copy is on its way, which the client should know. */
CUresult arena_close(struct server_arena *arena, const struct cuda_driver *driver, uint32_t number);
/* NULL: there is no such piece, or it has not these bytes. */
struct arena_piece *arena_find(const struct server_arena *arena, uint32_t number, uint64_t offset,
                               uint64_t bytes);
static inline void arena_keep(struct arena_piece *piece)
{
    atomic_fetch_add_explicit(&piece->uses, 1, memory_order_relaxed);
}
/* Any thread. */
static inline void arena_drop(struct arena_piece *piece)
{
    atomic_fetch_sub_explicit(&piece->uses, 1, memory_order_release);
}

#endif
