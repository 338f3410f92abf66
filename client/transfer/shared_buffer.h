/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that this process shares with one backend process. On the same machine the driver copies
 * between it and the GPU; from another machine a network card reaches it. Bytes of such a copy do
 * not go through the connection, nor through a thread of this process. */
#ifndef CLIENT_TRANSFER_SHARED_BUFFER_H
#define CLIENT_TRANSFER_SHARED_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_context;
struct client_conn;
struct client_session;

struct client_shared_buffer;

struct client_buffer_place { /* in shared memory */
    uint32_t piece;
    uint64_t offset;
};

/* Maps zeroed memory at `where`, replacing the mapping there (NULL: anywhere), and offers it to the
 * backend process of the context, without waiting. NULL: it cannot be shared. */
struct client_shared_buffer *client_shared_buffer_make(const struct client_context *context,
                                                       void *where, uint64_t bytes);
/* Whether existing memory can be shared with the other end of this connection (RDMA). */
bool client_shared_buffer_reaches(const struct client_conn *conn);
/* Shares existing memory, of any size and kind; it stays the caller's. Registering it with the
 * network card takes a while. Memory that cannot be shared gets a (refused) shared buffer, too, so
 * that it is not tried again; NULL: no memory. */
struct client_shared_buffer *client_shared_buffer_reach(struct client_session *session,
                                                        void *memory, uint64_t bytes);
/* One piece of memory may be shared over several connections: finds the buffer of this one, or
 * NULL. */
struct client_shared_buffer *client_shared_buffer_of(struct client_shared_buffer *first,
                                                     const struct client_conn *conn);
/* Adds a buffer to the list of those of the same memory. */
void client_shared_buffer_add(struct client_shared_buffer **first,
                              struct client_shared_buffer *buffer);
void *client_shared_buffer_memory(const struct client_shared_buffer *buffer);
/* Its number at the other end. */
uint32_t client_shared_buffer_piece(const struct client_shared_buffer *buffer);
/* Whether the other end of this connection has accepted it; false until its answer has come. */
bool client_shared_buffer_usable(struct client_shared_buffer *buffer, struct client_conn *conn);
/* As client_shared_buffer_usable, but polls a short while for the answer. */
bool client_shared_buffer_usable_soon(struct client_shared_buffer *buffer,
                                      struct client_conn *conn);
/* Ends and frees all shared buffers of one piece of memory (or NULL), which no copy may use any
 * more. The memory stays mapped, and is the caller's. */
void client_shared_buffer_end(struct client_shared_buffer *first);

#endif
