/* SPDX-License-Identifier: Apache-2.0 */
/* Shared buffers: memory that the application shares with its backend process. On one machine the
 * driver copies between it and the GPU; over RDMA the network card copies between it and staging
 * slots. No byte goes through the connection.
 *
 * The other process may write there at any time, so its bytes are data of copies and never
 * interpreted. It cannot take the memory away (base/shared_memory.h); this process does not unmap
 * it while a copy is under way. */
#ifndef SERVER_PIPELINE_SHARED_BUFFERS_H
#define SERVER_PIPELINE_SHARED_BUFFERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "server/charge/ledger.h"
#include "server/driver/driver.h"

struct shared_buffer {
    uint8_t *memory;  /* mapped here; NULL: the network card reaches it, */
    uint64_t address; /* by address and key */
    uint32_t key;
    uint64_t bytes;        /* 0: free */
    CUdevice device;       /* in whose primary context it is pinned, when it is mapped */
    _Atomic uint32_t uses; /* copies under way */
};

struct shared_buffers {            /* of the submit thread, but for `uses` */
    struct shared_buffer *buffers; /* API_SHARED_BUFFERS_MAX; NULL: none yet */
    uint64_t bytes, most;          /* of all; allowed */
    struct ledger *ledger;         /* those that are mapped are charged to it */
};

/* Maps and pins the memory of `fd`, which stays the caller's. CUDA_ERROR_INVALID_VALUE: it is no
 * such memory. CUDA_ERROR_OUT_OF_MEMORY: it exceeds the limit, or there is no memory. */
CUresult shared_buffer_open(struct shared_buffers *shared_buffers, const struct cuda_driver *driver,
                            CUdevice device, uint32_t number, int fd, uint64_t bytes,
                            uint64_t inode);
/* Enters memory that the network card reaches by this address and key. The same errors. */
CUresult shared_buffer_reach(struct shared_buffers *shared_buffers, uint32_t number, uint64_t bytes,
                             uint64_t address, uint32_t key);
/* Takes a buffer out, whose number is free then. CUDA_ERROR_ILLEGAL_STATE: a copy is under way; the
 * client must not close it then. The caller unpins it, on any thread, and says that it has, with
 * the result of that. */
CUresult shared_buffer_close(struct shared_buffers *shared_buffers, uint32_t number,
                             struct shared_buffer *closed);
CUresult shared_buffer_unpin(const struct cuda_driver *driver, const struct shared_buffer *closed);
void shared_buffer_unpinned(struct shared_buffers *shared_buffers, const struct cuda_driver *driver,
                            const struct shared_buffer *closed, CUresult rc);
/* Closes all, after the end of the copies. */
void shared_buffers_fini(struct shared_buffers *shared_buffers, const struct cuda_driver *driver);
/* NULL: there is no such buffer, or it is shorter. */
struct shared_buffer *shared_buffer_find(const struct shared_buffers *shared_buffers,
                                         uint32_t number, uint64_t offset, uint64_t bytes);
static inline void shared_buffer_keep(struct shared_buffer *piece)
{
    atomic_fetch_add_explicit(&piece->uses, 1, memory_order_relaxed);
}
/* Any thread. */
static inline void shared_buffer_drop(struct shared_buffer *piece)
{
    atomic_fetch_sub_explicit(&piece->uses, 1, memory_order_release);
}

#endif
