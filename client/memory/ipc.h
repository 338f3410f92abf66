/* Device memory that other programs share with this one, and what this one shares. */
#ifndef CLIENT_MEMORY_IPC_H
#define CLIENT_MEMORY_IPC_H

#include <stdbool.h>
#include <stdint.h>

struct client_context;
struct client_memory;

/* Only what cuMemAlloc gives: no managed or pinned memory, none of a module or a pool, and nothing
 * that is another program's. */
bool client_ipc_capable(uint64_t address);
/* The opened memory that contains the address. */
bool client_ipc_find(uint64_t address, struct client_memory *memory);
/* The allocation is about to be freed. */
bool client_ipc_withdraw(struct client_context *context, uint64_t address);
/* What a context has opened or shares has gone with it on the server. */
void client_ipc_forget(const struct client_context *context);

#endif
