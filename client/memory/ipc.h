/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that other programs share with this one, and what this one shares. */
#ifndef CLIENT_MEMORY_IPC_H
#define CLIENT_MEMORY_IPC_H

#include <stdbool.h>
#include <stdint.h>

struct client_context;
struct client_memory;

/* Whether the memory can be shared: only memory of cuMemAlloc can; not managed or pinned memory,
 * that of a module or a pool, or memory of another program. */
bool client_ipc_capable(const struct client_memory *memory);
/* Withdraws the allocation, which is about to be freed. False: it was not shared. */
bool client_ipc_withdraw(struct client_context *context, uint64_t start);
/* Forgets what a context has opened or shares: on the server it has ended with the context. */
void client_ipc_forget(const struct client_context *context);

#endif
