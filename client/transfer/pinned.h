/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the program that is pinned, and the shared buffers over which copies reach it. */
#ifndef CLIENT_TRANSFER_PINNED_H
#define CLIENT_TRANSFER_PINNED_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/transfer/shared_buffer.h"

struct client_context;

/* Records that the memory is pinned. `registered`: it is the program's own; `placed`: kernels use
 * it by this address; `buffer`, taken: what shares it from the beginning, or NULL.
 * CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: some of it is. */
CUresult client_host_pin(void *start, uint64_t bytes, unsigned flags, bool registered, bool placed,
                         struct client_shared_buffer *buffer);
/* Takes the record of a range that starts there out; every copy that uses it has then ended.
 * CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: nothing there is pinned. */
CUresult client_host_unpin(void *start, bool registered, uint64_t *bytes, bool *placed);
/* Drops the record of pinned memory whose context has ended. */
void client_host_forget(uint64_t start);
/* Whether all bytes lie in one pinned range. */
bool client_host_pinned(const void *start, uint64_t bytes);
/* Whether the address lies in memory that was allocated as pinned, with which flags. */
bool client_host_allocated(uint64_t address, unsigned *flags);
/* The place of these bytes in a buffer that is shared with the context's server. False: none is, or
 * not all bytes are pinned. */
bool client_host_place(const void *start, uint64_t bytes, const struct client_context *context,
                       struct client_buffer_place *place);
/* Loads or stores a word of 4 or 8 bytes that stays pinned meanwhile. False: it is not pinned. */
bool client_host_load(uint64_t address, unsigned bytes, uint64_t *value);
bool client_host_store(uint64_t address, unsigned bytes, uint64_t value);

#endif
