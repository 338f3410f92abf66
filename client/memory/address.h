/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about device addresses, answered from the address map and the books of those whose the
 * address is: the allocator of a session, and memory pools. */
#ifndef CLIENT_MEMORY_ADDRESS_H
#define CLIENT_MEMORY_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/address/address_map.h"

struct client_session;

/* A live allocation, mapping, variable, or pinned range. */
struct client_memory {
    enum client_address_kind kind;  /* CHUNK: an allocation of a pool; SESSION: one of cuMemAlloc */
    struct client_session *session; /* NULL: host memory */
    uint64_t start, bytes;
    uint64_t context;  /* handle; 0: none */
    CUmemoryPool pool; /* NULL: none */
    uint64_t id;       /* 0: `start` is one */
    unsigned flags;    /* CLIENT_ADDRESS_BARRED, PLACED, MANAGED, OWN */
};

/* Finds the device memory that has the address. In a session's window only allocated memory counts;
 * in space that the program has reserved only mapped memory. */
bool client_memory_find(uint64_t address, struct client_memory *memory);
/* The session whose addresses these are, allocated or not; also that of reserved addresses. Host
 * memory never lies there. NULL: none. */
struct client_session *client_memory_window(uint64_t address);
/* As client_memory_window, and the session of a module's variable or of a mirror. NULL: no device
 * memory of ours. */
struct client_session *client_memory_session(uint64_t address);
/* CUDA_ERROR_INVALID_VALUE unless all bytes belong to one live allocation or variable, or to
 * mappings side by side. */
CUresult client_memory_check(uint64_t address, uint64_t bytes, struct client_session **session);

#endif
