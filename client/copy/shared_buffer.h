/* Memory that this process shares with one backend process: of the same machine, where the driver
 * copies between it and the GPU, or of another one whose network card reaches it. No byte of such a
 * copy goes through the connection, and none through a processor of this machine. */
#ifndef CLIENT_COPY_SHARED_BUFFER_H
#define CLIENT_COPY_SHARED_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_context;
struct client_conn;
struct client_session;

/* Less is copied faster through the connection, which is in the cache. */
#define CLIENT_SHARED_BUFFER_MIN (UINT64_C(64) << 10)

struct client_shared_buffer;

struct client_buffer_place { /* in shared memory */
    uint32_t piece;
    uint64_t offset;
};

/* Maps zeros at `where`, in place of what is there (NULL: anywhere), and offers them to the backend
 * process of the context; nothing waits for it. NULL: they cannot be shared. */
struct client_shared_buffer *client_shared_buffer_make(const struct client_context *context,
                                                       void *where, uint64_t bytes);
/* Whether memory that is there already can be shared with the other end of this connection. */
bool client_shared_buffer_reaches(const struct client_conn *conn);
/* Shares such memory where it lies, of any size and kind; it stays the caller's. It is registered
 * with the network card, which takes a while. What cannot be shared has a shared buffer, too, so
 * that nobody tries again; NULL: no memory. */
struct client_shared_buffer *client_shared_buffer_reach(struct client_session *session,
                                                        void *memory, uint64_t bytes);
/* The same memory may be shared with several: that of this connection, or NULL. */
struct client_shared_buffer *client_shared_buffer_of(struct client_shared_buffer *first,
                                                     const struct client_conn *conn);
/* Adds one to those of the same memory. */
void client_shared_buffer_add(struct client_shared_buffer **first,
                              struct client_shared_buffer *buffer);
void *client_shared_buffer_memory(const struct client_shared_buffer *buffer);
/* Its number at the other end. */
uint32_t client_shared_buffer_piece(const struct client_shared_buffer *buffer);
/* Whether the other end of this connection has it: until its answer has come it has not. */
bool client_shared_buffer_usable(struct client_shared_buffer *buffer, struct client_conn *conn);
/* The same, where it is worth to look for the answer for a short while. */
bool client_shared_buffer_usable_soon(struct client_shared_buffer *buffer,
                                      struct client_conn *conn);
/* No copy uses them any more: all of one memory (or NULL) are shared no longer, and freed. The
 * memory stays mapped, and is the caller's. */
void client_shared_buffer_end(struct client_shared_buffer *first);

/* ---- slots, through which pageable memory is copied */

#define CLIENT_SLOT_BYTES (UINT64_C(128) << 10)
/* In a slot, bytes lie in a cache line as they do at the program's. */
#define CLIENT_SLOT_LINE 64u
#define CLIENT_SLOTS     8u /* of each direction */

struct client_slot {
    uint8_t *memory; /* CLIENT_SLOT_BYTES, and a cache line */
    struct client_buffer_place place;
    atomic_uint busy; /* 0 makes it free: whoever has taken it does that, or reply_action.lease */
};

/* A free slot of the context's connection, for copies to the device or from it. NULL: there are
 * none, or none is free or, to the device, becomes free soon. */
struct client_slot *client_slot_take(const struct client_context *context, bool in);

/* Where in a slot that memory goes to, or comes from, which lies at `host` here. */
static inline uint64_t client_slot_skew(const void *host)
{
    return (uintptr_t)host % CLIENT_SLOT_LINE;
}

/* Now and then: slots that nobody has used for a while need no memory. */
void client_slots_rest(const struct client_conn *conn, uint64_t now_ns);

/* ---- copy_shared.c */

struct client_call;

/* Out of a piece, or into it, where the program's memory at `host` is. With `wait` the copy is over
 * when it returns, else when its turn in the stream has come; freeing the memory waits for it. */
CUresult client_copy_shared(struct client_call *call, struct client_buffer_place place, void *host,
                            uint64_t device, uint64_t bytes, uint64_t stream, bool in, bool wait);
/* Copies through slots as long as there are any: how many bytes. Those to the device have been
 * taken when it returns, those from it are there. */
CUresult client_copy_slots_in(struct client_call *call, uint64_t to, const uint8_t *from,
                              uint64_t bytes, uint64_t stream, uint64_t *copied);
CUresult client_copy_slots_out(struct client_call *call, uint8_t *to, uint64_t from, uint64_t bytes,
                               uint64_t stream, uint64_t *copied);

#endif
