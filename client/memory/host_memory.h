/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned host memory. */
#ifndef CLIENT_MEMORY_HOST_MEMORY_H
#define CLIENT_MEMORY_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct client_buffer_place;
struct client_context;
struct client_memory;

bool client_host_find(uint64_t address, struct client_memory *memory);
/* Drops the record of pinned memory whose context has ended. */
void client_host_forget(uint64_t start);
/* Loads or stores a word of 4 or 8 bytes that stays pinned meanwhile. False: it is not pinned. */
bool client_host_load(uint64_t address, unsigned bytes, uint64_t *value);
bool client_host_store(uint64_t address, unsigned bytes, uint64_t value);
/* Whether all bytes lie in one pinned range. */
bool client_host_pinned(const void *start, uint64_t bytes);
bool client_host_place(const void *start, uint64_t bytes, const struct client_context *context,
                       struct client_buffer_place *place);

#endif
