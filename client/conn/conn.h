/* One connection to a backend process: where calls leave and where their answers arrive.
 *
 * There is no reader thread. A thread that waits for an answer takes the reader role if it is free
 * and completes the others' calls as their answers come by; else it sleeps until it is complete or
 * is made the reader. Sending: threads append under send_lock, which is never held across a system
 * call that may block; whoever cannot send polls for reading and writing and reads meanwhile, so
 * that two full directions never wait for each other.
 * Order of locks: send_lock before read_lock. */
#ifndef CLIENT_CONN_CONN_H
#define CLIENT_CONN_CONN_H

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
#define CONN_BATCH    65536u     /* so many bytes are sent without waiting for more */
#define CONN_DIRECT   16384u     /* bulk from here on is sent out of the caller's memory */
#define CONN_FLUSH_NS 50000u     /* what waits in the buffer leaves; see flush_ns */
#define CONN_DRAIN_NS 1000000u   /* answers without a waiter are looked for so often */
#define CONN_BUCKETS  1024u      /* of the table of outstanding answers; power of two */
#define CONN_INLINE   256u       /* results that need no memory of their own */
#define CONN_LOST     719        /* CUDA_ERROR_LAUNCH_FAILED: what a lost connection gives */
#define CONN_APART    65536u     /* bulk from here on may leave over a bulk connection */
#define CONN_PREFIX   32u        /* a WIRE_BULK frame */
#define CONN_SWITCHES 256u       /* context switches remembered: late errors of older servers */

struct client_conn;

/* What an answer shall do besides waking who waits. All zero: nothing. */
struct reply_action {
    uint64_t context; /* handle; late errors go there */
    /* Copies to the host: row r of the packed stream goes to `to + r * pitch`. One row: width and
     * pitch are `bytes`. */
    uint8_t *to;
    uint64_t bytes, width, pitch;
    bool reads;         /* `to` is what a copy to the device reads */
    bool shared;        /* no bytes come: they are where both ends reach them */
    bool together;      /* asked for with others, so it is no round trip of its own */
    atomic_uint *lease; /* becomes 0 when it is complete */
    /* *watched is raised to `watch_value` when the answer is good; of a query that says "not
     * ready": once it has become ready. */
    _Atomic uint64_t *watched;
    uint64_t watch_value;
    struct client_host_call *host; /* a host function: the answer is that its turn has come */
};

/* Makes it at least `least`. Who has asked first may learn last: what another thread has learned
 * about later work stays. */
static inline void client_conn_raise(_Atomic uint64_t *value, uint64_t least)
{
    uint64_t now = atomic_load(value);
    while (now < least && !atomic_compare_exchange_weak(value, &now, least)) {
    }
}

/* What is expected under a sequence number. */
struct pending_reply {
    struct pending_reply *next; /* in its bucket, or in the free list */
    struct client_conn *conn;
    uint64_t sequence;
    atomic_uint references; /* waiting threads; grows only under read_lock and before `done` */
    bool waited;            /* somebody waits: else it goes when it is complete */
    atomic_bool done;       /* the last thing that happens to it before it is released */
    uint16_t opcode;        /* of the answer; 0 when the connection was lost */
    int result;             /* CUresult */
    struct reply_action want;
    uint64_t came; /* bytes of a copy to the host: they come in order, all before the answer */
    /* Results of the call, behind CUresult and padding. */
    size_t results_size;
    uint8_t *results; /* NULL: they are in `small` */
    _Alignas(16) uint8_t small[CONN_INLINE];
};

struct conn_switch {
    uint64_t sequence, context;
};

/* A bulk connection (conn_bulk.c). But for `conn` all is under send_lock. */
struct conn_bulk {
    struct transport_conn transport;
    const uint8_t *from; /* of the piece that it sends; its caller's memory, or `room` */
    uint64_t left;       /* of that */
    uint64_t pieces;     /* given to it ever */
    uint8_t *room;       /* for a piece that is packed or gathered; NULL until there is one */
};

/* Pieces of one call: the last one given to each bulk connection. */
struct conn_apart {
    uint64_t pieces[WIRE_BULKS_MAX];
};

struct client_conn {
    struct transport_conn data;
    struct transport_side side; /* of the service thread, but for sending */
    char name[300];             /* for people: where it leads */
    void *owner;                /* the server it belongs to; for whoever opened it */
    uint64_t process;
    unsigned index;       /* among the process's connections */
    atomic_int dead;      /* CUresult that every call gets; 0: alive */
    atomic_bool trimming; /* see reclaim.c */
    atomic_bool quiet;    /* the end of the connection is no news (exit, fork) */
    bool lacks;           /* the server lacks some of our calls: those in `lacking` */
    struct api_op_set lacking;
    /* Called once per failed call that nobody waits for: context handle, result, opcode. */
    void (*on_error)(uint64_t context, int result, uint16_t opcode);

    pthread_mutex_t end_lock;     /* held while `dead` is decided; no other is taken within */
    pthread_mutex_t mirrors_lock; /* see mirror_list.h */
    pthread_mutex_t send_lock;
    pthread_cond_t room; /* the buffer shrank, exclusive or pumping ended */
    uint8_t *out;
    size_t out_start, out_end;
    uint64_t out_sent; /* bytes of the buffer sent since the beginning */
    bool pumping, exclusive;
    uint64_t sequence;          /* of the last call */
    _Atomic uint64_t submitted; /* the same, to look at without the lock */
    _Atomic uint64_t answered;  /* the last call that was waited for and has its answer */
    _Atomic uint64_t worked;    /* of the last call that may have left work on a GPU */
    _Atomic uint64_t lasting;   /* the same, of work that does not end by itself and soon */
    _Atomic uint64_t owing; /* context with blocking copies under way (copy_deferred.c); 0: none */
    uint64_t context;       /* the last one told to the server */
    struct conn_switch switches[CONN_SWITCHES];
    unsigned switch_count;
    struct compression compression; /* of bulk */
    uint8_t *gathered;              /* a piece before it is packed; NULL until there is one */
    char address[300];              /* of the backend process */
    atomic_bool bulk_asked;         /* for bulk connections */
    atomic_uint bulk_count;         /* those in use, once there are any */
    unsigned bulk_last;             /* the one chosen last */
    struct conn_bulk bulks[WIRE_BULKS_MAX];
    _Atomic uint64_t oldest_ns; /* when the buffer became non-empty; 0: empty or no hurry */
    /* Nothing waits longer in the buffer: CONN_FLUSH_NS; on a long way an eighth of the round trip,
     * as TCP after a pause sends ten packets, however small, and then waits for a round trip. */
    uint64_t flush_ns;

    atomic_bool reading; /* the reader role is taken; given back by conn_receive.c's leave() */
    atomic_uint waiting; /* threads that have found it taken, or are about to */
    _Atomic(struct pending_reply *) spare; /* of the last call: the next one needs no lock for it */
    pthread_mutex_t read_lock;
    struct ga_list waiters;
    struct pending_reply *buckets[CONN_BUCKETS];
    struct pending_reply *unused;
    atomic_uint unwaited;     /* answers outstanding that nobody waits for */
    atomic_uint host_calls;   /* of these, turns of host functions: they are read as they come */
    _Atomic uint64_t read_ns; /* last time something was read, when unwaited != 0 */

    /* Owned by whoever has the reader role. */
    struct ga_spin spin;
    struct frame_reader reader;
    struct pending_reply *bulk; /* copy whose chunk is being read; NULL: none */
    uint64_t bulk_at, bulk_left;
    uint64_t bulk_bytes;  /* of the chunk */
    uint64_t bulk_got;    /* bytes of it that are here, as they come */
    unsigned bulk_apart;  /* the bulk connection that it comes over; 0: the data connection */
    unsigned bulk_next;   /* that of the next frame, as WIRE_BULK has said */
    uint32_t packed_next; /* likewise: bytes that are packed; 0: they are not */
    uint32_t bulk_packed; /* those of the chunk */
    uint8_t *packed;      /* room for them */
    atomic_uint awaited;  /* where the next bytes come: as bulk_apart; any thread may look */
    uint8_t *bounce;      /* rows in pieces */

    /* Counters for the trace. Bytes: of who sends, and of who has the reader role. */
    atomic_ullong bytes_out, bytes_in, waits, waited_ns;
    atomic_ullong shared_out, shared_in;         /* bytes through shared memory; of any thread */
    atomic_ullong unpacked_bytes, unpacked_from; /* bytes that came packed, and as how many */
};

/* A counter that one thread at a time adds to, and any thread reads. */
static inline void client_conn_count(atomic_ullong *counter, uint64_t more)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + more, memory_order_relaxed);
}

/* Takes the data connection over (its handshake is done, `reader` may hold bytes already). */
GA_CHECKED enum ga_status client_conn_init(struct client_conn *conn, struct transport_conn data,
                                           struct frame_reader reader);

/* ---- sending. Between lock and unlock: frames are appended. */

/* Locks; `room` bytes of frames can be appended then. 0, or the CUresult of a dead connection (and
 * the lock is not held). */
GA_CHECKED int client_conn_lock(struct client_conn *conn, size_t room);
/* Where the next frame goes. */
uint8_t *client_conn_at(struct client_conn *conn);
/* Appends WIRE_CONTEXT if the next call runs in another context than the last one. Needs 32 bytes
 * of room. */
void client_conn_context(struct client_conn *conn, uint16_t session, uint64_t context);
/* Ends the frame at client_conn_at: header, padding; `values` bytes are written behind the header,
 * `bulk` bytes follow (16-aligned behind the values; not part of the buffer). Gives its sequence.
 */
uint64_t client_conn_frame(struct client_conn *conn, uint16_t opcode, uint16_t session,
                           size_t values, uint64_t bulk, bool call);
/* Sends the bulk of the frame just appended out of the caller's memory; keeps the order. Unlocks
 * while it waits: nobody else appends meanwhile. */
void client_conn_bulk(struct client_conn *conn, const void *from, uint64_t bytes);
/* The same through a bulk connection, if there are any. client_conn_lock, but it waits also until
 * one is free; */
GA_CHECKED int client_conn_lock_apart(struct client_conn *conn, size_t room);
/* in front of the frame, behind WIRE_CONTEXT; */
void client_conn_prefix(struct client_conn *conn, uint32_t connection, uint32_t packed);
/* and behind the frame, which has no bulk of its own: some of it leaves, the rest is the caller's
 * to wait for, whosever memory it is, before he waits for anything but the connection. */
void client_conn_apart(struct client_conn *conn, const void *from, uint64_t bytes,
                       struct conn_apart *apart);
/* WIRE_CHUNK bytes that the chosen connection may send from. NULL: no memory. */
uint8_t *client_conn_apart_room(struct client_conn *conn);
void client_conn_apart_wait(struct client_conn *conn, const struct conn_apart *apart);
/* How many bulk connections are in use. */
unsigned client_conn_bulks(const struct client_conn *conn);
/* Unlocks; what is buffered leaves now (`now`, or when the server has nothing else to do), when
 * there is much of it, or within flush_ns. */
void client_conn_unlock(struct client_conn *conn, bool now);
/* Sends without waiting what can be sent. */
void client_conn_flush(struct client_conn *conn);
/* Now and then: memory of a connection that carries nothing goes back. */
void client_conn_rest(struct client_conn *conn, uint64_t now_ns);

/* ---- expecting and receiving */

/* A record for the next answer; to be called between lock and unlock, with the sequence of the
 * frame. NULL: no memory. */
struct pending_reply *client_conn_expect(struct client_conn *conn, uint64_t sequence, bool waited,
                                         const struct reply_action *want);
/* Waits for it (flushing first). The record stays the caller's until client_conn_release. */
void client_conn_wait(struct client_conn *conn, struct pending_reply *record);
/* Takes the reader role if it is free. Whoever has it sends at once what it has to say and then
 * waits for its answer, for which it calls client_conn_wait_leading in any case. */
bool client_conn_lead(struct client_conn *conn);
/* The same as client_conn_wait, with the role, which it gives away. A NULL record: only that. */
void client_conn_wait_leading(struct client_conn *conn, struct pending_reply *record);
void client_conn_release(struct client_conn *conn, struct pending_reply *record);
/* Waits for every copy that writes into [start, start + bytes), and with `reads` for those that
 * read it. */
void client_conn_wait_range(struct client_conn *conn, const void *start, uint64_t bytes,
                            bool reads);
/* Flushes, and reads what is there, without waiting. */
void client_conn_drain(struct client_conn *conn);

/* The connection is lost: everything outstanding completes with CONN_LOST, calls get it from now
 * on. One line says why. Only the first time counts. */
void client_conn_lose(struct client_conn *conn, const char *why);
/* The same with a CUresult: work of the program went wrong in a way that condemns the process. */
void client_conn_condemn(struct client_conn *conn, int result, const char *why);

/* ---- inside the connection (conn_send.c, conn_bulk.c, conn_receive.c, conn_answer.c,
 * conn_pending.c) */
/* Under send_lock. GA_AGAIN: the sockets are full. */
enum ga_status conn_push(struct client_conn *conn);
enum ga_status conn_bulk_push(struct client_conn *conn);
/* The wire takes no more just now: that decides whether packing is worth it. Under send_lock. */
void conn_note_full(struct client_conn *conn);
/* Waits until a socket that was full takes more, or something else has happened. Under send_lock,
 * which is released while waiting. */
void conn_wait_for_room(struct client_conn *conn);
/* Where the reader's next bytes come. */
struct transport_conn *conn_awaited(struct client_conn *conn);
struct pending_reply *conn_table_find(struct client_conn *conn, uint64_t sequence);
void conn_table_remove(struct client_conn *conn, struct pending_reply *record);
struct pending_reply *conn_table_add(struct client_conn *conn, uint64_t sequence);
void conn_table_free(struct client_conn *conn, struct pending_reply *record);
/* Takes one answer, or a part of a copy's piece, out of the reader. GA_AGAIN: more must come.
 * GA_INVALID: nonsense. GA_LOST. The reader role is the caller's. */
GA_CHECKED enum ga_status conn_answer_take(struct client_conn *conn);
/* Reads if the role is free and bytes are there. */
void conn_read_try(struct client_conn *conn);
/* Nobody reads just now. */
bool conn_read_free(struct client_conn *conn);
/* Sends until `target` bytes of the buffer have left, reading meanwhile. */
void conn_send_until(struct client_conn *conn, uint64_t target);
/* Context of the call with this sequence, as far as remembered; 0: not. */
uint64_t conn_context_of(struct client_conn *conn, uint64_t sequence);
/* Completes a record under read_lock and wakes who waits for it. */
void conn_complete(struct client_conn *conn, struct pending_reply *record, uint16_t opcode,
                   int result);
/* Wakes the service thread: bytes wait in the buffer, or answers nobody waits for. */
extern void (*client_conn_armed)(void);

#endif
