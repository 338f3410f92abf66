/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that this process shares with one backend process. On the same machine the driver copies
 * between it and the GPU; from another machine a network card reaches it. Bytes of such a copy do
 * not go through the connection, nor through a thread of this process. */
#ifndef CLIENT_COPY_SHARED_BUFFER_H
#define CLIENT_COPY_SHARED_BUFFER_H

#include <stdatomic.h>
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

/* ---- slots (bounce buffers), through which pageable memory is copied */

#define CLIENT_SLOT_BYTES (UINT64_C(128) << 10)
/* Bytes have the same offset in a cache line in a slot as in the program's memory. */
#define CLIENT_SLOT_LINE 64u
#define CLIENT_SLOTS     8u /* of each direction */

struct client_slot {
    uint8_t *memory; /* CLIENT_SLOT_BYTES, and a cache line */
    struct client_buffer_place place;
    atomic_uint busy; /* 0: free; cleared by the thread that took it, or by reply_action.lease */
};

/* Takes a slot of the context's connection, for a copy to the device (`in`) or from it. NULL: the
 * connection has no slots, or none is free; for a copy to the device it waits a moment for one. */
struct client_slot *client_slot_take(const struct client_context *context, bool in);

/* The offset in a slot for bytes that lie at `host` in the program's memory. */
static inline uint64_t client_slot_skew(const void *host)
{
    return (uintptr_t)host % CLIENT_SLOT_LINE;
}

/* Call now and then: gives back memory of slots that have been idle for a while. */
void client_slots_rest(const struct client_conn *conn, uint64_t now_ns);

/* ---- copy_shared.c */

struct client_call;

/* Copies out of a shared buffer (`in`) or into it, at the place of the program's memory `host`.
 * With `wait` the copy is over when this returns; otherwise it runs in stream order, and freeing
 * the memory waits for it. */
CUresult client_copy_shared(struct client_call *call, struct client_buffer_place place, void *host,
                            uint64_t device, uint64_t bytes, uint64_t stream, bool in, bool wait);
/* Copy through slots as long as some are free; *copied: how many bytes. Bytes to the device have
 * been read when this returns, bytes to the host are there. */
CUresult client_copy_slots_in(struct client_call *call, uint64_t to, const uint8_t *from,
                              uint64_t bytes, uint64_t stream, uint64_t *copied);
CUresult client_copy_slots_out(struct client_call *call, uint8_t *to, uint64_t from, uint64_t bytes,
                               uint64_t stream, uint64_t *copied);

#endif
