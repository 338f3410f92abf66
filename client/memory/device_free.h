/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing device memory, and returning cached memory to the server. */
#ifndef CLIENT_MEMORY_DEVICE_FREE_H
#define CLIENT_MEMORY_DEVICE_FREE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_context;
struct client_mirror;
struct client_session;

/* In an unpinned session each block is reserved in the program's address space by itself, so that a
 * device pointer is never a valid pointer of the program. This ends such a reservation. */
void memory_reservation_end(const struct client_context *context, uint64_t address, uint64_t bytes);
/* Unmaps a block that no work uses, without waiting: the allocator's callback. `user` is a context
 * of its session. */
int memory_unmap_idle(void *user, uint64_t address, uint64_t bytes);
/* Settles retired memory of the context behind which all work is known to be done. True: some was
 * settled. */
bool memory_settle(struct client_context *context);
/* As memory_settle, but first reads the answers that have come meanwhile. */
bool memory_settle_more(struct client_context *context);
/* Frees the allocation that the mirror is in, and ends the mirror (NULL: only that is to be freed);
 * the caller has taken it out of the list. */
CUresult client_memory_free_mirror(struct client_context *context, struct client_mirror *mirror);
/* Unmaps after the work of the context. */
CUresult client_memory_unmap(struct client_context *context, uint64_t address, uint64_t bytes);
void client_memory_forget(struct client_context *context);
/* Waits until no work uses retired memory of the context any more. */
void client_memory_settle(struct client_context *context);
/* Memory has run out on the server: unmaps the allocator's free memory; with `wait` also retired
 * memory, after the work before. */
void client_memory_trim_session(const struct client_session *session, bool wait);
/* Returns memory with more effort at each step, from 0 on: unused memory of pools, too; then memory
 * that pools will not use when the work before has ended; from CLIENT_RELIEF_OTHERS on cached
 * memory of other programs. False: nothing more can be tried. */
#define CLIENT_RELIEF_OTHERS 3u
bool client_memory_reclaim(const struct client_session *session, unsigned step);

#endif
