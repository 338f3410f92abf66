/* Frames on their way to a client. Any thread appends and tries to send; nobody ever waits for the
 * socket while holding the lock. What the socket does not take stays, in order, and the completion
 * thread sends it when poll says so. Bulk bytes may go over connections of their own (WIRE_BULK);
 * the frame itself stays in its place among the others. */
#ifndef SERVER_PIPELINE_SEND_QUEUE_H
#define SERVER_PIPELINE_SEND_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/wire.h"
#include "base/cursor.h"
#include "base/list.h"
#include "base/pool.h"
#include "server/pipeline/staging.h"
#include "transport/transport.h"

#define OUT_PREFIX_BYTES 32u /* a WIRE_BULK frame */

/* One frame: header and values in one piece, then perhaps bulk bytes in a leased slot. */
struct send_queue_frame {
    struct ga_list link;       /* in the queue, until header and values are sent */
    struct ga_list bulk_link;  /* in that of a bulk connection, until its bulk is sent */
    unsigned queues;           /* in how many it is */
    bool apart;                /* it is, or was, in two */
    struct ga_pool *home;      /* NULL: it is of the allocator */
    struct staging_slot *slot; /* or NULL; given back when sent */
    uint8_t *bulk;             /* in the slot */
    uint32_t bulk_bytes;       /* padded */
    uint32_t padding;          /* of these */
    bool stores;               /* it is no frame: its bulk goes into the client's memory, */
    uint32_t key;              /* by this */
    uint64_t address;
    uint32_t head_bytes;     /* header and values, and WIRE_BULK in front of them */
    uint8_t *start;          /* of those */
    struct ga_writer writer; /* of the values */
    _Alignas(16) uint8_t prefix[OUT_PREFIX_BYTES];
    uint8_t head[];
};

/* The way out of a bulk connection. */
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
    size_t sent;                    /* of the first frame */
    struct compression compression; /* of bulk that goes by the queue */
    struct send_queue_bulk bulks[WIRE_BULKS_MAX];
    unsigned bulk_count, bulk_last; /* of those in use, and the one chosen last */
    struct transport_memory lent;   /* the slots, for the network card; state NULL: they are not */
    struct ga_list stores;          /* on their way: the card reads their slots */
    uint64_t stored;                /* ever, as far as seen */
    atomic_uint storing;            /* how many are in `stores` */
    _Atomic bool lost;              /* nothing is sent any more, nobody waits */
};

void send_queue_init(struct send_queue *out, struct transport_conn *conn, struct staging *staging);

/* Frames that a thread makes ready: few of them wait at a time, and most have few values. */
void send_queue_pool_init(struct ga_pool *pool);
/* A frame with room for `values` bytes, out of the calling thread's own pool or, if that is NULL or
 * the frame is larger than most, of the allocator. NULL: no memory. */
struct send_queue_frame *send_queue_frame_make(struct ga_pool *pool, size_t values, uint16_t opcode,
                                               uint16_t session, uint64_t sequence);
/* Completes the values (padding, length) and queues the frame: takes it over. */
void send_queue_append(struct send_queue *out, struct send_queue_frame *frame);
/* Appends a reply that a client waits for, and sends it at once if sending takes no system call and
 * nothing is queued before it. Other replies are not flushed one by one: a receiver that waits only
 * for the last one would be woken by each. */
void send_queue_hurry(struct send_queue *out, struct send_queue_frame *frame);
/* Queues bytes that go into the client's memory, ahead of the frames behind them: of
 * `send_queue_frame_make` without values, `slot`, `bulk`, `bulk_bytes`, `address` and `key` are
 * set. */
void send_queue_store(struct send_queue *out, struct send_queue_frame *store);
/* Whether slots become free by themselves, some time after they have been sent: flush again. */
bool send_queue_is_storing(struct send_queue *out);
/* Whether to try to pack `bytes` bulk bytes, and what came of that: packed_bytes 0, nothing. */
bool send_queue_pack_wanted(struct send_queue *out, uint32_t bytes);
void send_queue_pack_tried(struct send_queue *out, uint32_t bytes, size_t packed_bytes,
                           uint64_t took_ns);
/* The frame's bulk, which is there already, is so many packed bytes, and what fills up. */
void send_queue_frame_packed(struct send_queue_frame *frame, uint32_t packed_bytes);
/* Throws a frame away that was not queued. */
void send_queue_frame_free(struct send_queue_frame *frame);

/* Large bulk goes over this connection, too, from the next frame on; it stays the caller's. */
void send_queue_bulk_use(struct send_queue *out, struct transport_conn *conn);
/* What to poll for until more can be sent: OUT_AWAIT_MAX at most; 0: ask now. */
#define OUT_AWAIT_MAX ((1 + WIRE_BULKS_MAX) * TRANSPORT_POLL_MAX)
unsigned send_queue_await(struct send_queue *out, struct pollfd *fds);

/* Sends what the socket takes. GA_OK: all. GA_AGAIN: some is left. GA_LOST. */
GA_CHECKED enum ga_status send_queue_flush(struct send_queue *out);
bool send_queue_is_empty(struct send_queue *out);
/* Now and then: memory of a connection that carries nothing goes back. */
void send_queue_rest(struct send_queue *out, uint64_t now_ns);
/* Whether `bytes` or more are queued. */
bool send_queue_is_full(const struct send_queue *out, uint64_t bytes);
/* Waits until fewer than `bytes` are queued. GA_LOST: the connection has ended. */
GA_CHECKED enum ga_status send_queue_wait_room(struct send_queue *out, uint64_t bytes);
/* The connection has ended: frees what is queued and wakes whoever waits. */
void send_queue_end(struct send_queue *out);

#endif
