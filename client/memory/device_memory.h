/* Inside device_memory.c and device_free.c: device memory, allocated and given back. */
#ifndef CLIENT_MEMORY_DEVICE_MEMORY_H
#define CLIENT_MEMORY_DEVICE_MEMORY_H

#include "client/call/state.h"

/* Without a window each block is reserved in the program's address space by itself, so that a
 * device pointer is never a valid pointer of the program; this ends that. */
void memory_reservation_end(const struct client_context *context, uint64_t address, uint64_t bytes);
/* Gives a block back that no work uses; nobody waits. For the allocator; `user` is a context of its
 * session. */
int memory_unmap_idle(void *user, uint64_t address, uint64_t bytes);
/* What is known to be done of the context's work frees what was freed behind it. Whether anything.
 */
bool memory_settle(struct client_context *context);
/* The same, having looked what the server has told meanwhile. Whether anything has become free. */
bool memory_settle_more(struct client_context *context);

#endif
