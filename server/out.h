/* Frames on their way to a client. Any thread appends and tries to send; nobody ever waits for the
 * socket while holding the lock. What the socket does not take stays, in order, and the completion
 * thread sends it when poll says so. */
#ifndef SERVER_OUT_H
#define SERVER_OUT_H

#include <pthread.h>
#include <stdbool.h>

#include "api/wire.h"
#include "base/cursor.h"
#include "base/list.h"
#include "base/pool.h"
#include "server/staging.h"
#include "transport/transport.h"

/* One frame: header and values in one piece, then perhaps bulk bytes in a leased slot. */
struct out_frame {
    struct ga_list link;
    struct ga_pool *home;      /* NULL: it is of the allocator */
    struct staging_slot *slot; /* or NULL; given back when sent */
    uint8_t *bulk;             /* in the slot */
    uint32_t bulk_bytes;       /* padded */
    uint32_t head_bytes;       /* header and values */
    struct ga_writer writer;   /* of the values */
    _Alignas(16) uint8_t head[];
};

struct server_out {
    pthread_mutex_t lock;
    pthread_cond_t drained; /* `bytes` has become less, or the connection is lost */
    struct transport_conn *conn;
    struct staging *staging;
    struct ga_list frames;
    _Atomic uint64_t bytes; /* queued; changed under the lock */
    size_t sent;            /* of the first frame */
    bool lost;              /* nothing is sent any more, nobody waits */
};

void out_init(struct server_out *out, struct transport_conn *conn, struct staging *staging);

/* Frames that a thread makes ready: few of them wait at a time, and most have few values. */
void out_pool_init(struct ga_pool *pool);
/* A frame with room for `values` bytes, out of the calling thread's own pool or, if that is NULL or
 * the frame is larger than most, of the allocator. NULL: no memory. */
struct out_frame *out_frame_make(struct ga_pool *pool, size_t values, uint16_t opcode,
                                 uint16_t session, uint64_t sequence);
/* Completes the values (padding, length) and queues the frame: takes it over. */
void out_append(struct server_out *out, struct out_frame *frame);
/* Throws a frame away that was not queued. */
void out_frame_free(struct out_frame *frame);

/* Sends what the socket takes. GA_OK: all. GA_AGAIN: some is left. GA_LOST. */
GA_CHECKED enum ga_status out_flush(struct server_out *out);
bool out_is_empty(struct server_out *out);
/* Waits until fewer than `bytes` are queued. GA_LOST: the connection has ended. */
GA_CHECKED enum ga_status out_wait_room(struct server_out *out, uint64_t bytes);
/* The connection has ended: frees what is queued and wakes whoever waits. */
void out_end(struct server_out *out);

#endif
