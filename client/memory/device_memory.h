/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the owner of an address, and allocated device memory. */
#ifndef CLIENT_MEMORY_DEVICE_MEMORY_H
#define CLIENT_MEMORY_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_context;
struct client_module;
struct client_session;

/* A live allocation, module global, or pinned range. */
struct client_memory {
    struct client_session *session; /* NULL: host memory */
    uint64_t start, bytes;
    uint64_t context;  /* handle; 0: none */
    CUmemoryPool pool; /* NULL: none */
    uint64_t id;       /* 0: `start` is one */
    bool mapped;       /* by the program; adjacent mappings count as one range */
    bool barred;       /* no device may use it */
    bool placed;       /* pinned memory that kernels use by this address */
};

bool client_memory_find(uint64_t address, struct client_memory *memory);
/* The session whose window (unpinned: whose block) holds the address; host memory never lies in
 * one. Takes a lock, the allocator's, only for unpinned sessions. */
struct client_session *client_memory_window(uint64_t address);
/* The session whose window or module global holds the address; NULL: no device memory of ours. */
struct client_session *client_memory_session(uint64_t address);
/* CUDA_ERROR_INVALID_VALUE unless all bytes belong to one live allocation or global. */
CUresult client_memory_check(uint64_t address, uint64_t bytes, struct client_session **session);
void client_global_known(struct client_session *session, uint64_t address, uint64_t bytes,
                         const struct client_module *module);
void client_globals_forget(const struct client_module *module);
/* cuMemAlloc in that context. */
CUresult client_memory_alloc(struct client_context *context, uint64_t bytes, CUdeviceptr *out);

#endif
