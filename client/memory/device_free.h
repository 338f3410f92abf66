/* Device memory that is given back. */
#ifndef CLIENT_MEMORY_DEVICE_FREE_H
#define CLIENT_MEMORY_DEVICE_FREE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_context;
struct client_mirror;
struct client_session;

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
CUresult client_memory_free(struct client_context *context, uint64_t address,
                            struct client_mirror *mirror);
/* A mapping goes, after the work of the context. */
CUresult client_memory_unmap(struct client_context *context, uint64_t address, uint64_t bytes);
void client_memory_forget(struct client_context *context);
/* Waits until no work uses any more what was freed of the context's memory. */
void client_memory_settle(struct client_context *context);
/* The server has no memory left: gives back what the allocator holds and nobody uses; `wait`: also
 * what nobody will use when the work before has ended. */
void client_memory_trim_session(const struct client_session *session, bool wait);
/* The same with more effort at each step, from 0 on: what pools do not use, too; then what they
 * will not use when the work has ended; from CLIENT_RELIEF_OTHERS on what other programs keep.
 * False: there is nothing more that could be tried. */
#define CLIENT_RELIEF_OTHERS 3u
bool client_memory_reclaim(const struct client_session *session, unsigned step);

#endif
