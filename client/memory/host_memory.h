/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned host memory, as memory that addresses are asked about; transfer/pinned.h has the rest. */
#ifndef CLIENT_MEMORY_HOST_MEMORY_H
#define CLIENT_MEMORY_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct client_memory;

/* The pinned range that holds the address. */
bool client_host_find(uint64_t address, struct client_memory *memory);

#endif
