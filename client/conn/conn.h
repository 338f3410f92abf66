/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to a backend process: calls leave and answers arrive here.
 *
 * There is no reader thread; threads that wait for answers form a leader/follower group. One of
 * them takes the reader role if it is free (the leader) and completes the others' calls (the
 * followers) as their answers arrive. A follower sleeps until its call is complete or it becomes
 * the leader.
 *
 * Sending: threads append under send_lock, which is never held across a system call that may block.
 * A thread that cannot send polls for both directions and reads meanwhile, so two full directions
 * never wait for each other.
 * Order of locks: send_lock before read_lock. */
#ifndef CLIENT_CONN_CONN_H
#define CLIENT_CONN_CONN_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/signatures.h"
#include "base/cursor.h"
#include "base/list.h"
#include "base/spin.h"
#include "base/status.h"
#include "transport/transport.h"

#define CONN_BUFFER   (1u << 20) /* bytes waiting to be sent, at most */
#define CONN_BATCH    65536u     /* this many buffered bytes are sent at once */
#define CONN_FLUSH_NS 50000u     /* buffered bytes wait no longer; see flush_ns */
#define CONN_DRAIN_NS 1000000u   /* interval of reading answers that no thread waits for */
#define CONN_BUCKETS  1024u      /* of the table of pending replies; power of two */
#define CONN_INLINE   256u       /* results that need no memory of their own */
#define CONN_LOST     719        /* CUDA_ERROR_LAUNCH_FAILED: the connection is lost */
#define CONN_PREFIX   32u        /* a WIRE_BULK frame */
#define CONN_SWITCHES 256u       /* context switches remembered: late errors of older servers */

struct client_conn;

/* What an answer does besides waking the thread that waits. All zero: nothing. */
struct reply_action {
    uint64_t context; /* handle; late errors go there */
    /* Copies to the host: row r of the packed stream goes to `to + r * pitch`. One row: width and
     * pitch are `bytes`. */
    uint8_t *to;
    uint64_t bytes, width, pitch;
    bool reads;         /* `to` is what a copy to the device reads */
    bool shared;        /* no bytes come over the connection: they are in a shared buffer */
    bool together;      /* asked for with others, so it counts as no round trip of its own */
    atomic_uint *lease; /* set to 0 when the answer has come */
    /* *watched is raised to `watch_value` when the answer is a success; for a query that is
     * answered "not ready", once it has become ready. */
    _Atomic uint64_t *watched;
    uint64_t watch_value;
    struct client_host_call *host; /* a host call: the answer says that its turn has come */
};

/* What a connection tells the rooms above it. Any thread; none of these may wait. */
struct client_conn_hooks {
    /* A call has failed that no thread waits for. `context`: its handle. */
    void (*failed)(uint64_t context, int result, uint16_t opcode);
    /* The turn of a host call has come; its id goes back to the server when it has returned. */
    void (*host_due)(struct client_host_call *call, int status, uint32_t id);
    /* Its turn never comes: the connection has ended with `status`. */
    void (*host_lost)(struct client_host_call *call, int status);
    /* Another program lacks memory: cached memory shall go back. The service thread. */
    void (*trim)(struct client_conn *conn);
    /* Now and then: memory that has been idle may be given back. The service thread. */
    void (*rest)(const struct client_conn *conn, uint64_t now_ns);
    /* Bytes wait in the buffer, or replies are pending that no thread waits for: the service thread
     * has to look. */
    void (*armed)(void);
};

/* Those of the library (client/conn_hooks.c). */
extern const struct client_conn_hooks client_conn_hooks;

/* Raises *value to `least` if it is smaller. Threads may learn about completed work in another
 * order than that of the work, so the value must never fall. */
static inline void client_conn_raise(_Atomic uint64_t *value, uint64_t least)
{
    uint64_t now = atomic_load(value);
    while (now < least && !atomic_compare_exchange_weak(value, &now, least)) {
    }
}

/* A reply that is expected under a sequence number. */
struct pending_reply {
    struct pending_reply *next; /* in its bucket, or in the free list */
    struct client_conn *conn;
    uint64_t sequence;
    atomic_uint references; /* waiting threads; grows only under read_lock and before `done` */
    bool waited;            /* a thread waits for it; otherwise it is freed when it is complete */
    atomic_bool done;       /* set last, before it is released */
    uint16_t opcode;        /* of the answer; 0: the connection was lost */
    int result;             /* CUresult */
    struct reply_action want;
    uint64_t came; /* bytes received of a copy to the host: in order, all before the answer */
    /* Results of the call, without CUresult and padding. */
    size_t results_size;
    uint8_t *results; /* NULL: they are in `small` */
    _Alignas(16) uint8_t small[CONN_INLINE];
};

struct conn_switch {
    uint64_t sequence, context;
};

/* A bulk connection (conn_bulk.c). Everything except `transport` is under send_lock. */
struct conn_bulk {
    struct transport_conn transport;
    const uint8_t *from; /* rest of the piece that it sends: in the caller's memory, or in `room` */
    uint64_t left;       /* bytes at `from` */
    uint64_t pieces;     /* count of all pieces given to it */
    uint8_t *room;       /* for a piece that is compressed or gathered; NULL until it is needed */
};

/* The out-of-band pieces of one call: the last one given to each bulk connection. */
struct conn_apart {
    uint64_t pieces[WIRE_BULKS_MAX];
};

struct client_conn {
    struct transport_conn data;
    struct transport_side side; /* of the service thread; any thread may send */
    char name[300];             /* for messages: the server */
    void *owner;                /* the server that it belongs to; for the code that opened it */
    uint64_t process;
    unsigned index;       /* among the process's connections */
    atomic_int dead;      /* CUresult of every call; 0: alive */
    atomic_bool trimming; /* see reclaim.c */
    atomic_bool quiet;    /* the end of the connection is not logged (exit, fork) */
    bool lacks;           /* the server lacks some of our calls: see `lacking` */
    struct api_op_set lacking;
    const struct client_conn_hooks *hooks;

    pthread_mutex_t end_lock; /* held while `dead` is decided; no other lock is taken under it */
    pthread_mutex_t mirrors_lock; /* see mirror_list.h */
    pthread_mutex_t send_lock;
    pthread_cond_t room; /* the buffer has shrunk, or `exclusive` or `pumping` has ended */
    uint8_t *out;
    size_t out_start, out_end;
    uint64_t out_sent; /* bytes of the buffer sent ever */
    bool pumping, exclusive;
    uint64_t sequence;          /* of the last call */
    _Atomic uint64_t submitted; /* the same, readable without the lock */
    _Atomic uint64_t answered;  /* the last call whose answer a thread waited for */
    _Atomic uint64_t worked;    /* the last call that may have left work on a GPU */
    _Atomic uint64_t lasting;   /* the last call of class API_WORK_LASTING */
    _Atomic uint64_t
        owing;        /* context with deferred copies under way (deferred_copies.c); 0: none */
    uint64_t context; /* the last one told to the server */
    struct conn_switch switches[CONN_SWITCHES];
    unsigned switch_count;
    struct compression compression; /* of bulk */
    uint8_t *gathered;              /* rows of a piece before compression; NULL until needed */
    char address[300];              /* of the backend process */
    atomic_bool bulk_asked;         /* bulk connections have been asked for */
    atomic_uint bulk_count;         /* bulk connections in use */
    unsigned bulk_last;             /* the bulk connection chosen last */
    struct conn_bulk bulks[WIRE_BULKS_MAX];
    _Atomic uint64_t oldest_ns; /* when the buffer became non-empty; 0: nothing has to leave */
    /* Bytes wait no longer in the buffer: CONN_FLUSH_NS, or an eighth of a long round trip, because
     * TCP sends ten packets after a pause, however small, and then waits for a round trip. */
    uint64_t flush_ns;

    atomic_bool reading; /* a leader has the reader role; conn_receive.c gives it back */
    atomic_uint waiting; /* followers: threads that have found the role taken, or are about to */
    _Atomic(struct pending_reply *)
        spare; /* a free record that the next call takes without a lock */
    pthread_mutex_t read_lock;
    struct ga_list waiters;
    struct pending_reply *buckets[CONN_BUCKETS];
    struct pending_reply *unused;
    atomic_uint unwaited;     /* pending replies that no thread waits for */
    atomic_uint host_calls;   /* of these, host calls: they are read as soon as they come */
    _Atomic uint64_t read_ns; /* time of the last read, while unwaited != 0 */

    /* Owned by the thread that has the reader role. */
    struct ga_spin spin;
    struct frame_reader reader;
    struct pending_reply *bulk; /* the copy whose chunk is being read; NULL: none */
    uint64_t bulk_at, bulk_left;
    uint64_t bulk_bytes;  /* size of the chunk */
    uint64_t bulk_got;    /* bytes of it received so far, in the form in which they travel */
    unsigned bulk_conn;   /* the bulk connection that carries it; 0: the data connection */
    unsigned bulk_next;   /* that of the next frame, from WIRE_BULK */
    uint32_t packed_next; /* compressed size in the next frame, from WIRE_BULK; 0: plain */
    uint32_t bulk_packed; /* compressed size of the chunk; 0: plain */
    uint8_t *packed;      /* room for compressed bytes */
    atomic_uint awaited;  /* the connection of the next bytes, as bulk_conn; any thread reads it */
    uint8_t *bounce;      /* room for rows that arrive in pieces */

    /* Counters for the trace. The sender and the reader add to the counts of bytes. */
    atomic_ullong bytes_out, bytes_in, waits, waited_ns;
    atomic_ullong shared_out, shared_in;         /* bytes through shared buffers; any thread adds */
    atomic_ullong unpacked_bytes, unpacked_from; /* received compressed: plain size, compressed */
};

/* Adds to a counter that one thread at a time changes, and any thread reads. */
static inline void client_conn_count(atomic_ullong *counter, uint64_t more)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_relaxed);
}

/* Takes ownership of the data connection, after its handshake; `reader` may hold bytes already. */
GA_CHECKED enum ga_status client_conn_init(struct client_conn *conn, struct transport_conn data,
                                           struct frame_reader reader,
                                           const struct client_conn_hooks *hooks);

/* ---- sending. Frames are appended between lock and unlock. */

/* Locks, with room to append `room` bytes of frames. Returns 0, or the CUresult of a dead
 * connection (then the lock is not held). */
GA_CHECKED int client_conn_lock(struct client_conn *conn, size_t room);
/* The place of the next frame. */
uint8_t *client_conn_at(struct client_conn *conn);
/* Appends WIRE_CONTEXT if the next call runs in another context than the last one. Needs 32 bytes
 * of room. */
void client_conn_context(struct client_conn *conn, uint16_t session, uint64_t context);
/* The context has ended: its handle is none that the server knows. */
void client_conn_context_gone(struct client_conn *conn, uint64_t context);
/* Completes the frame at client_conn_at with header and padding. `values` bytes are written behind
 * the header; `bulk` bytes follow (16-aligned behind the values; not part of the buffer). Returns
 * its sequence. */
uint64_t client_conn_frame(struct client_conn *conn, uint16_t opcode, uint16_t session,
                           size_t values, uint64_t bulk, bool call);
/* Sends the bulk of the frame just appended from the caller's memory, in order. It unlocks while it
 * waits, but no other thread can append meanwhile. */
void client_conn_bulk(struct client_conn *conn, const void *from, uint64_t bytes);
/* The three functions for bulk over a bulk connection, if there are any. Instead of
 * client_conn_lock; waits also until a bulk connection is free. */
GA_CHECKED int client_conn_lock_apart(struct client_conn *conn, size_t room);
/* Appends WIRE_BULK, behind WIRE_CONTEXT and in front of the frame. */
void client_conn_prefix(struct client_conn *conn, uint32_t connection, uint32_t packed);
/* Begins to send the bulk, after the frame, which has none of its own. The caller must call
 * client_conn_apart_wait for the rest before it waits for anything except the connection. */
void client_conn_apart(struct client_conn *conn, const void *from, uint64_t bytes,
                       struct conn_apart *apart);
/* Room of WIRE_CHUNK bytes that the chosen bulk connection may send from. NULL: no memory. */
uint8_t *client_conn_apart_room(struct client_conn *conn);
void client_conn_apart_wait(struct client_conn *conn, const struct conn_apart *apart);
/* How many bulk connections are in use. */
unsigned client_conn_bulks(const struct client_conn *conn);
/* Unlocks. Buffered bytes leave at once if `now` is set, if the server has nothing else to do, or
 * if there are CONN_BATCH of them; otherwise within flush_ns. */
void client_conn_unlock(struct client_conn *conn, bool now);
/* Sends as much as the sockets take, without waiting. */
void client_conn_flush(struct client_conn *conn);

/* ---- expecting and receiving */

/* Makes the pending reply of the frame with this sequence; call between lock and unlock. NULL: no
 * memory. */
struct pending_reply *client_conn_expect(struct client_conn *conn, uint64_t sequence, bool waited,
                                         const struct reply_action *want);
/* Flushes, and waits for the reply. The caller owns the record until client_conn_release. */
void client_conn_wait(struct client_conn *conn, struct pending_reply *record);
/* Takes the reader role if it is free: makes the caller the leader. A leader must send its call at
 * once, and then call client_conn_wait_leading in any case. */
bool client_conn_lead(struct client_conn *conn);
/* As client_conn_wait, for the leader; gives the role away. NULL record: only gives the role away.
 */
void client_conn_wait_leading(struct client_conn *conn, struct pending_reply *record);
void client_conn_release(struct client_conn *conn, struct pending_reply *record);
/* Waits for every copy that writes into [start, start + bytes); with `reads` also for those that
 * read from it. */
void client_conn_wait_range(struct client_conn *conn, const void *start, uint64_t bytes,
                            bool reads);
/* Reads the bytes that are there, unless another thread does, without waiting; client_conn_drain
 * flushes before that. */
void client_conn_read(struct client_conn *conn);
void client_conn_drain(struct client_conn *conn);

/* Declares the connection lost: pending replies complete with CONN_LOST, and all later calls get
 * it. Logs one line that says why. Only the first call has an effect. */
void client_conn_lose(struct client_conn *conn, const char *why);
/* As client_conn_lose with another CUresult: an execution fault has condemned the process. */
void client_conn_condemn(struct client_conn *conn, int result, const char *why);

/* ---- for the service thread (conn_service.c); only it calls these */

/* Does everything that is due; returns when it has to be called again. */
uint64_t client_conn_serve(struct client_conn *conn, uint64_t now_ns);
/* Which descriptors to poll; none if the connection is lost. */
#define CONN_POLLS_MAX (2 * TRANSPORT_POLL_MAX)
unsigned client_conn_polls(struct client_conn *conn, struct pollfd *at);
/* One of them has an event. */
void client_conn_polled(struct client_conn *conn, int fd);

/* ---- inside the connection (conn_send.c, conn_bulk.c, conn_receive.c, conn_answer.c,
 * conn_pending.c) */
/* Under send_lock. GA_AGAIN: the sockets are full. */
enum ga_status conn_push(struct client_conn *conn);
enum ga_status conn_bulk_push(struct client_conn *conn);
/* Records that the socket is full, which decides whether compression pays. Under send_lock. */
void conn_note_full(struct client_conn *conn);
/* Waits until a full socket takes more, or something else has happened. Under send_lock, which is
 * released while waiting. */
void conn_wait_for_room(struct client_conn *conn);
/* The connection of the reader's next bytes. */
struct transport_conn *conn_awaited(struct client_conn *conn);
struct pending_reply *conn_table_find(struct client_conn *conn, uint64_t sequence);
void conn_table_remove(struct client_conn *conn, struct pending_reply *record);
struct pending_reply *conn_table_add(struct client_conn *conn, uint64_t sequence);
void conn_table_free(struct client_conn *conn, struct pending_reply *record);
/* Takes one answer, or a part of a copy's chunk, out of the reader. GA_AGAIN: more bytes must come.
 * GA_INVALID: nonsense. GA_LOST. The caller has the reader role. */
GA_CHECKED enum ga_status conn_answer_take(struct client_conn *conn);
/* Whether no thread reads just now. */
bool conn_read_free(struct client_conn *conn);
/* Sends until `target` bytes of the buffer have left, reading meanwhile. */
void conn_send_until(struct client_conn *conn, uint64_t target);
/* The context of the call with this sequence, if it is remembered; else 0. */
uint64_t conn_context_of(struct client_conn *conn, uint64_t sequence);
/* Completes a record and wakes the threads that wait for it. Under read_lock. */
void conn_complete(struct client_conn *conn, struct pending_reply *record, uint16_t opcode,
                   int result);

#endif
