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
 * Order of locks: send_lock before read_lock.
 *
 * What is inside a connection only the files of this folder see (conn_internal.h). */
#ifndef CLIENT_CONN_CONN_H
#define CLIENT_CONN_CONN_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/signatures.h"
#include "base/cursor.h"
#include "base/status.h"
#include "transport/transport.h"

#define CONN_FLUSH_NS 50000u /* buffered bytes wait no longer; see flush_ns */
#define CONN_INLINE   256u   /* results that need no memory of their own */
#define CONN_LOST     719    /* CUDA_ERROR_LAUNCH_FAILED: the connection is lost */
#define CONN_PREFIX   32u    /* a WIRE_BULK frame */

struct client_conn;

/* The part of a connection that others read without a call into it: a connection begins with
 * this. */
struct client_conn_facts {
    atomic_int dead; /* CUresult of every call; 0: alive */
    unsigned index;  /* among the process's connections */
    bool lacks;      /* the server lacks some of our calls: see `lacking` */
    struct api_op_set lacking;
    atomic_bool nameless;       /* the server keeps no images of modules */
    _Atomic uint64_t submitted; /* sequence of the last call */
    _Atomic uint64_t worked;    /* the last call that may have left work on a GPU */
    _Atomic uint64_t lasting;   /* the last call of class API_WORK_LASTING */
    /* All such calls behind `lasting_before` are in one stream: its handle; in a legacy stream,
     * that of its context; 0: it is not known in which. */
    _Atomic uint64_t lasting_before, lasting_in;
    _Atomic uint64_t owing; /* context with deferred copies under way; 0: none */
};

static inline struct client_conn_facts *client_conn_facts(const struct client_conn *conn)
{
    return (struct client_conn_facts *)(uintptr_t)conn;
}

/* The CUresult of every call; 0: alive. */
static inline int client_conn_dead(const struct client_conn *conn)
{
    return atomic_load_explicit(&client_conn_facts(conn)->dead, memory_order_acquire);
}

static inline bool client_conn_lacks(const struct client_conn *conn, uint16_t op)
{
    const struct client_conn_facts *facts = client_conn_facts(conn);
    return facts->lacks && api_op_set_has(&facts->lacking, op);
}

static inline unsigned client_conn_index(const struct client_conn *conn)
{
    return client_conn_facts(conn)->index;
}

/* Sequences, as in the facts. */
static inline uint64_t client_conn_submitted(const struct client_conn *conn)
{
    return atomic_load(&client_conn_facts(conn)->submitted);
}

static inline uint64_t client_conn_worked(const struct client_conn *conn)
{
    return atomic_load(&client_conn_facts(conn)->worked);
}

static inline uint64_t client_conn_lasting(const struct client_conn *conn)
{
    return atomic_load(&client_conn_facts(conn)->lasting);
}

/* Effects of an answer besides waking the thread that waits. All zero: nothing. */
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

/* Calls of a connection to the rooms above it. Any thread; none of these may wait. */
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

/* The out-of-band pieces of one call: the last one given to each bulk connection. */
struct conn_out_of_band {
    uint64_t pieces[WIRE_BULKS_MAX];
};

/* The facts that a connection begins with. */
struct client_conn_start {
    struct transport_conn data, side; /* after their handshakes; the connection owns them */
    struct frame_reader data_reader, side_reader; /* may hold bytes already; likewise */
    unsigned dead_after_ms;                       /* without a sign of life from the other end */
    const struct client_conn_hooks *hooks;
    const char *name;    /* for messages: the server */
    const char *address; /* of the backend process */
    const void *owner;   /* the server that it belongs to; for the code that opens it */
    uint64_t process;
    const struct api_op_set *lacking; /* calls that the server lacks; NULL: none */
    enum compression_mode compression;
};

/* GA_NO_MEMORY: nothing is owned. */
GA_CHECKED enum ga_status client_conn_create(const struct client_conn_start *start,
                                             struct client_conn **out);

/* ---- what it is (conn_facts.c) */

const char *client_conn_name(const struct client_conn *conn);
const char *client_conn_address(const struct client_conn *conn);
const void *client_conn_owner(const struct client_conn *conn);
const char *client_conn_scheme(const struct client_conn *conn);
/* The transport of its data, for memory that both ends share; and whether descriptors go over it,
 * so that both ends are on one machine. */
struct transport_conn *client_conn_transport(const struct client_conn *conn);
bool client_conn_takes_fds(const struct client_conn *conn);
/* Held while mirrors of its devices are made equal: see mirror_list.h. */
pthread_mutex_t *client_conn_mirrors_lock(struct client_conn *conn);
/* From now on its end is not logged: the program ends. */
void client_conn_hush(struct client_conn *conn);
/* Sends a message over the side connection; any thread. GA_AGAIN: it is full. */
GA_CHECKED enum ga_status client_conn_side_send(struct client_conn *conn, uint16_t opcode,
                                                uint64_t sequence, const void *values, size_t size);
/* Cached memory begins to go back. False: it does already, until client_conn_trim_end. */
bool client_conn_trim_begin(struct client_conn *conn);
void client_conn_trim_end(struct client_conn *conn);

/* Bytes and calls that have travelled, and how long calls waited. */
struct client_conn_counts {
    uint64_t bytes_out, bytes_in, waits, waited_ns;
    uint64_t plain_out, compressed_out, plain_in, compressed_in; /* of what was compressed */
};
struct client_conn_counts client_conn_counts(const struct client_conn *conn);
/* Counts bytes that went through a shared buffer. */
void client_conn_count_shared(struct client_conn *conn, uint64_t bytes, bool out);

/* ---- sending. Frames are appended between lock and unlock. */

/* Locks, with room to append `room` bytes of frames. Returns 0, or the CUresult of a dead
 * connection (then the lock is not held). */
GA_CHECKED int client_conn_lock(struct client_conn *conn, size_t room);
/* The sequence that the next call gets. Between lock and unlock. */
uint64_t client_conn_next(const struct client_conn *conn);
/* The call with this sequence leaves work on a GPU, `lasting` if it may last. */
static inline void client_conn_note_work(struct client_conn *conn, uint64_t sequence, bool lasting)
{
    struct client_conn_facts *facts = client_conn_facts(conn);
    atomic_store_explicit(&facts->worked, sequence, memory_order_release);
    if (lasting) {
        atomic_store_explicit(&facts->lasting, sequence, memory_order_release);
    }
}
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
GA_CHECKED int client_conn_lock_out_of_band(struct client_conn *conn, size_t room);
/* Appends WIRE_BULK, behind WIRE_CONTEXT and in front of the frame. */
void client_conn_prefix(struct client_conn *conn, uint32_t connection, uint32_t compressed);
/* Begins to send the bulk, after the frame, which has none of its own. The caller must call
 * client_conn_out_of_band_wait for the rest before it waits for anything except the connection. */
void client_conn_send_out_of_band(struct client_conn *conn, const void *from, uint64_t bytes,
                                  struct conn_out_of_band *out_of_band);
/* Room of WIRE_CHUNK bytes that the chosen bulk connection may send from. NULL: no memory. */
uint8_t *client_conn_out_of_band_room(struct client_conn *conn);
void client_conn_out_of_band_wait(struct client_conn *conn,
                                  const struct conn_out_of_band *out_of_band);
/* The bulk connection that client_conn_lock_out_of_band has chosen, from 1 on. */
unsigned client_conn_out_of_band_number(const struct client_conn *conn);
/* Whether bulk connections are still to be asked for: once. Then, between lock and unlock: use
 * these. */
bool client_conn_bulks_wanted(struct client_conn *conn);
void client_conn_bulks_use(struct client_conn *conn, const struct transport_conn *bulks,
                           unsigned count);
/* How the bulk of its calls is compressed; and room of WIRE_CHUNK bytes for rows before that. NULL:
 * no memory. Between lock and unlock. */
struct compression *client_conn_compression(struct client_conn *conn);
uint8_t *client_conn_gather_room(struct client_conn *conn);
bool client_conn_compresses(const struct client_conn *conn);
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
/* Whether replies are pending that no thread waits for. */
bool client_conn_unwaited(const struct client_conn *conn);
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

#endif
