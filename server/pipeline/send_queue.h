/* SPDX-License-Identifier: Apache-2.0 */
/* The send queue: frames on their way to a client. Any thread appends and tries to send; no thread
 * waits for the socket while it holds the lock. Frames that the socket does not take stay in order,
 * and the completion thread sends them when the socket has room. Bulk bytes may go over bulk
 * connections (WIRE_BULK); the frame itself stays in its place among the others. */
#ifndef SERVER_PIPELINE_SEND_QUEUE_H
#define SERVER_PIPELINE_SEND_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/wire.h"
#include "base/cursor.h"
#include "base/list.h"
#include "base/pool.h"
#include "server/charge/send_rate.h"
#include "server/pipeline/staging.h"
#include "transport/transport.h"

#define SEND_QUEUE_PREFIX_BYTES 32u    /* a WIRE_BULK frame */
#define SEND_QUEUE_BULK_MIN     65536u /* less is worth no compression nor connection */

/* One frame: header and values in one piece, then perhaps bulk bytes in a leased staging slot. */
struct send_queue_frame {
    struct ga_list link;       /* in the queue, until header and values are sent */
    struct ga_list bulk_link;  /* in that of a bulk connection, until its bulk is sent */
    unsigned queues;           /* number of queues that it is in */
    bool out_of_band;          /* it is, or was, in two queues */
    struct ga_pool *home;      /* NULL: it is of the allocator */
    struct staging_slot *slot; /* or NULL; given back when sent */
    uint8_t *bulk;             /* in the slot */
    uint32_t bulk_bytes;       /* padded */
    uint32_t padding;          /* of these */
    bool stores;               /* no frame: its bulk is stored into the client's memory (RDMA), */
    uint32_t key;              /* by key and address */
    uint64_t address;
    uint32_t head_bytes;     /* header and values, and WIRE_BULK in front of them */
    uint8_t *start;          /* of those */
    struct ga_writer writer; /* of the values */
    _Alignas(16) uint8_t prefix[SEND_QUEUE_PREFIX_BYTES];
    uint8_t head[];
};

/* The send queue of a bulk connection. */
struct send_queue_bulk {
    struct transport_conn *conn;
    struct ga_list frames; /* by bulk_link */
    uint64_t bytes;        /* of their bulk that are not sent */
    size_t sent;           /* of the first one's */
};

struct send_queue {
    pthread_mutex_t lock;
    pthread_cond_t drained; /* `bytes` has become less, or the connection is lost */
    struct transport_conn *conn;
    struct staging *staging;
    struct ga_list frames;
    _Atomic uint64_t bytes;         /* queued; changed under the lock */
    _Atomic uint64_t own_bytes;     /* of these, those that lie in no slot */
    size_t sent;                    /* of the first frame */
    struct send_rate rate;          /* the limit bandwidth-out */
    struct compression compression; /* of bulk that goes by the queue */
    struct send_queue_bulk bulks[WIRE_BULKS_MAX];
    unsigned bulk_count, bulk_last; /* of those in use, and the one chosen last */
    struct transport_memory lent;   /* the slots, for the network card; state NULL: they are not */
    struct ga_list stores;          /* on their way: the card reads their slots */
    uint64_t stored;                /* count of all that have ended, as far as seen */
    atomic_uint storing;            /* how many are in `stores` */
    _Atomic bool lost;              /* nothing is sent any more, and no thread may wait */
};

void send_queue_init(struct send_queue *out, struct transport_conn *conn, struct staging *staging);

/* A thread's pool of frames: few of them wait at a time, and most have few values. */
void send_queue_pool_init(struct ga_pool *pool);
/* Makes a frame with room for `values` bytes, from the calling thread's own pool or, if that is
 * NULL or the frame is large, by malloc. NULL: no memory. */
struct send_queue_frame *send_queue_frame_make(struct ga_pool *pool, size_t values, uint16_t opcode,
                                               uint16_t session, uint64_t sequence);
/* Completes the values (padding, length) and queues the frame; takes ownership. */
void send_queue_append(struct send_queue *out, struct send_queue_frame *frame);
/* Appends a reply that a client waits for, and sends it at once if sending takes no system call and
 * nothing is queued before it. Other replies are not flushed one by one: a receiver that waits only
 * for the last one would be woken by each. */
void send_queue_expedite(struct send_queue *out, struct send_queue_frame *frame);
/* Queues a store of bytes into the client's memory, ahead of the frames behind it. `store` comes
 * from send_queue_frame_make without values, with `slot`, `bulk`, `bulk_bytes`, `address` and `key`
 * set. */
void send_queue_store(struct send_queue *out, struct send_queue_frame *store);
/* Whether stores are under way, whose slots become free only with a later flush. */
bool send_queue_is_storing(struct send_queue *out);
/* Whether to try to compress `bytes` bulk bytes; and what came out of it (0: not smaller). */
bool send_queue_compression_wanted(struct send_queue *out, uint32_t bytes);
void send_queue_compression_tried(struct send_queue *out, uint32_t bytes, size_t compressed_bytes,
                                  uint64_t took_ns);
/* Declares the frame's bulk, which is in place, to be so many compressed bytes, and padding. */
void send_queue_frame_compressed(struct send_queue_frame *frame, uint32_t compressed_bytes);
/* Frees a frame that was not queued. */
void send_queue_frame_free(struct send_queue_frame *frame);

/* Uses a bulk connection, too, from the next frame on; it stays the caller's. */
void send_queue_bulk_use(struct send_queue *out, struct transport_conn *conn);
/* Fills in what to poll for until more can be sent, as many as SEND_QUEUE_POLL_MAX; 0: ask again
 * now. */
#define SEND_QUEUE_POLL_MAX ((1 + WIRE_BULKS_MAX) * TRANSPORT_POLL_MAX)
unsigned send_queue_poll_prepare(struct send_queue *out, struct pollfd *fds);

/* Sends as much as the sockets take, and the limit bandwidth-out allows. GA_OK: all is sent.
 * GA_AGAIN: some is left. GA_LOST. */
GA_CHECKED enum ga_status send_queue_flush(struct send_queue *out);
bool send_queue_is_empty(struct send_queue *out);
/* Call now and then: gives back memory of an idle connection. */
void send_queue_idle(struct send_queue *out, uint64_t now_ns);
/* How long the limit lets nothing go, and no longer than it may be out of date: then flush again.
 * 0: it does not hold the queue. */
uint64_t send_queue_held_ns(struct send_queue *out);
/* As send_queue_held_ns, until bytes that bypass the queue may go: all that has been sent is within
 * the limit. */
uint64_t send_queue_early_ns(struct send_queue *out);
/* From now on the limit holds nothing: what is queued is all that will come. */
void send_queue_lift(struct send_queue *out);
/* Whether `bytes` or more are queued that lie in no slot: those in slots are as many as there are
 * slots. */
bool send_queue_is_full(const struct send_queue *out, uint64_t bytes);
/* Waits until it is not full, GA_TIMEOUT: for so long. GA_LOST: the connection has ended. */
GA_CHECKED enum ga_status send_queue_wait_room(struct send_queue *out, uint64_t bytes,
                                               uint64_t most_ns);
/* The connection has ended: frees all queued frames and wakes threads that wait. */
void send_queue_end(struct send_queue *out);
/* Closes the connection, which has ended; gives up slots that its card may have been reading. */
void send_queue_close(struct send_queue *out);
/* Frees the queue, which has ended. */
void send_queue_fini(struct send_queue *out);

#endif
