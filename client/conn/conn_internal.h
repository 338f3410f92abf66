/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a connection, for the files of this folder. */
#ifndef CLIENT_CONN_CONN_INTERNAL_H
#define CLIENT_CONN_CONN_INTERNAL_H

#include "base/list.h"
#include "base/spin.h"
#include "client/conn/conn.h"

#define CONN_BUFFER   (1u << 20) /* bytes waiting to be sent, at most */
#define CONN_BATCH    65536u     /* this many buffered bytes are sent at once */
#define CONN_DRAIN_NS 1000000u   /* interval of reading answers that no thread waits for */
#define CONN_BUCKETS  1024u      /* of the table of pending replies; power of two */
#define CONN_SWITCHES 256u       /* context switches remembered: late errors of older servers */

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

struct client_conn {
    struct client_conn_facts facts; /* first: see there */
    struct transport_conn data;
    struct transport_side side; /* of the service thread; any thread may send */
    char name[300];             /* for messages: the server */
    const void *owner;          /* as in client_conn_start */
    uint64_t process;
    atomic_bool trimming; /* see reclaim.c */
    atomic_bool quiet;    /* the end of the connection is not logged (exit, fork) */
    const struct client_conn_hooks *hooks;

    pthread_mutex_t end_lock; /* held while `dead` is decided; no other lock is taken under it */
    pthread_mutex_t mirrors_lock; /* see mirror_list.h */
    pthread_mutex_t send_lock;
    pthread_cond_t room; /* the buffer has shrunk, or `exclusive` or `pumping` has ended */
    uint8_t *out;
    size_t out_start, out_end;
    uint64_t out_sent; /* bytes of the buffer sent ever */
    bool pumping, exclusive;
    uint64_t sequence;         /* of the last call */
    _Atomic uint64_t answered; /* the last call whose answer a thread waited for */
    uint64_t context;          /* the last one told to the server */
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
    uint64_t bulk_bytes;      /* size of the chunk */
    uint64_t bulk_got;        /* bytes of it received so far, in the form in which they travel */
    unsigned bulk_conn;       /* the bulk connection that carries it; 0: the data connection */
    unsigned bulk_next;       /* that of the next frame, from WIRE_BULK */
    uint32_t compressed_next; /* compressed size in the next frame, from WIRE_BULK; 0: plain */
    uint32_t bulk_compressed; /* compressed size of the chunk; 0: plain */
    uint8_t *compressed;      /* room for compressed bytes */
    atomic_uint awaited; /* the connection of the next bytes, as bulk_conn; any thread reads it */
    uint8_t *bounce;     /* room for rows that arrive in pieces */

    /* Counters for the trace. The sender and the reader add to the counts of bytes. */
    atomic_ullong bytes_out, bytes_in, waits, waited_ns;
    atomic_ullong shared_out, shared_in; /* bytes through shared buffers; any thread adds */
    atomic_ullong decompressed_bytes,
        decompressed_from; /* received compressed: plain size, compressed */
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
