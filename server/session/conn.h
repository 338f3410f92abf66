/* SPDX-License-Identifier: Apache-2.0 */
/* A data connection: one application's ordered stream of calls.
 *
 * The submit thread reads, checks and submits. It waits neither for a GPU nor for the socket, with
 * two exceptions: for room (a full send queue; no free staging slot, as long as slots come back),
 * and where a call must leave nothing behind (the end of a context). All state of the application
 * belongs to it. The completion thread (completer.h) reports finished work. */
#ifndef SERVER_SESSION_CONN_H
#define SERVER_SESSION_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/handshake.h"
#include "api/wire.h"
#include "base/cursor.h"
#include "base/spin.h"
#include "server/channel.h"
#include "server/driver/driver.h"
#include "server/pipeline/copy_overflow.h"
#include "server/pipeline/host_calls.h"
#include "server/pipeline/send_queue.h"
#include "server/pipeline/shared_buffers.h"
#include "server/pipeline/staging.h"
#include "server/session/bulk.h"
#include "server/session/completer.h"
#include "server/session/gate.h"
#include "server/session/kernel_output.h"
#include "server/session/objects.h"
#include "server/session/ranges.h"
#include "transport/transport.h"

#define CONN_BUFFER_BYTES 131072u /* holds a frame of WIRE_VALUES_MAX (see frame_values) */

/* Callbacks of the connection to its process. */
struct server_host {
    void *user;
    /* Uses the ticket of a SESSION_OPEN. GA_DENIED with `why`. */
    enum ga_status (*ticket)(void *user, const struct handshake_data_hello *hello,
                             const char **why);
    /* The driver's ordinal of the GPU that serves the hello's device, as its ticket says; -1: not
     * of this process. */
    int (*ordinal)(void *user, const struct handshake_data_hello *hello);
    /* A request to the sharing registry of gpuaasd (sharing.h). The descriptor `*fd` goes along
     * (-1: none) and stays the caller's; it becomes that of the answer, the caller's too. */
    enum ga_status (*request)(void *user, struct channel_request *packet, int *fd);
    /* Whether bulk may be compressed. May be NULL: no. */
    bool (*compresses)(void *user);
    /* Makes tickets for bulk connections beside this one; how many. May be NULL: there are none. */
    unsigned (*bulk_tickets)(void *user, const struct transport_conn *conn,
                             struct channel_ticket made[WIRE_BULKS_MAX]);
    struct output_redirection *output; /* what its driver prints; NULL: goes where it goes */
    struct ledger *ledger;             /* of the application */
    /* The gate of a new session, which outlives the connection. May be NULL: there are none. */
    struct gate *(*gate)(void *user, const struct server_session *session);
    /* The connection has ended; `why` in words. Called once, by the submit thread, as its last
     * act. */
    void (*ended)(void *user, const char *why);
    uint64_t
        client_cache; /* limit on bytes that the client caches, of each device; see conf/keys.def */
};

/* The call that is being carried out: what its handler may ask besides the arguments. */
struct server_call {
    const struct wire_header *header;
    struct server_session *session;
    size_t values; /* bytes of values in the frame; bulk stands behind them */
};

struct server_conn {
    const struct cuda_driver *driver;
    const struct server_host *host;
    struct ledger *ledger; /* the host's */
    struct transport_conn transport;
    struct frame_reader reader;
    struct send_queue out;
    struct ga_pool frames; /* of the submit thread */
    struct staging staging;
    struct server_bulk bulk;
    struct shared_buffers shared_buffers;
    struct completer completer;
    struct host_calls host_calls;
    struct kernel_output output;
    struct server_objects objects;
    struct range_table ranges;
    struct range_table reserved; /* the program's reservations, outside of windows */
    struct server_session *sessions[CONF_GPUS_MAX + 1]; /* by number, from 1; NULL: never used */
    bool takes_trim;                                    /* the client understands WIRE_TRIM */
    bool lacks;                                         /* any of the following */
    struct api_op_set lacking, silent;                  /* client's calls that this build lacks */
    uint64_t calls;                                     /* sequence of the last call */
    bool gated;                                         /* any session has a gate */
    struct server_call call;
    struct server_context *current;
    bool elsewhere; /* the driver's current context is another, until the next call */
    uint64_t queue_bytes;
    struct staging_slot *shared; /* slot for small pieces, with a lease for this pointer; or NULL */
    uint32_t shared_used;
    uint64_t overflow_wait_ns;
    uint64_t still, hopeless; /* staging_moves since which no work goes on; and no room is left */
    bool waits_for_values; /* a stream waits, or has, for a value: only a later call may end that */
    bool overflows_not;    /* the driver cannot do what overflow needs */
    uint8_t *scratch;
    struct transport_memory scratch_lent; /* for the network card */
    uint32_t small_copies;                /* see calls/copy.c */
    uint64_t fetches;                     /* count of all that have begun, see rdma_copy.c */
    bool unlent;                          /* the slots cannot be registered with the network card */
    struct send_queue_frame *reply;       /* between server_reply_begin and _end */
    struct ga_spin spin;                  /* of the submit thread, for the next call */
    pthread_t thread;
    int wake_fd; /* wakes the submit thread: a job, or the end */
    _Atomic bool ended;
    _Atomic int fault; /* CUresult of the execution fault that condemned the process; 0: none */
    pthread_mutex_t job_lock;
    struct ga_list jobs; /* completer_entry.base.link */
    atomic_uint job_count;
};

/* Starts to serve the application that sent `hello`, whose ticket has been used. Takes ownership of
 * the connection and the reader (which is at the hello, and may hold bytes behind it) if it returns
 * GA_OK. */
GA_CHECKED enum ga_status conn_start(struct server_conn **out, const struct cuda_driver *driver,
                                     const struct server_host *host,
                                     const struct transport_conn *transport,
                                     const struct frame_reader *reader,
                                     const struct channel_setup *setup,
                                     const struct handshake_data_hello *hello, uint64_t sequence);
/* Makes the submit thread end soon; from any thread. */
void conn_end(struct server_conn *conn);

/* Sends as much as the socket takes; the completion thread sends the rest. Call before each call of
 * the driver that may wait for the GPU, because the GPU may wait for a client that waits for an
 * answer in the queue. */
void conn_flush(struct server_conn *conn);
/* Runs the jobs that the completion thread has handed back. */
void conn_run_jobs(struct server_conn *conn);
/* Runs jobs until `*done` is set. GA_LOST: the connection ends. */
GA_CHECKED enum ga_status conn_wait(struct server_conn *conn, const bool *done);
/* Sleeps until the thread is woken or, unless `from` is NULL, `wanted` is possible on it. */
void conn_poll(struct server_conn *conn, struct transport_conn *from, short wanted);

/* ---- copy_room.c: room for the bytes of a copy on their way */

/* A slot of staging.h, or a turn of copy_overflow.h. */
struct conn_room {
    struct staging_slot *slot; /* leased */
    uint8_t *at;               /* what the driver copies from or to, 16-aligned and padded */
    uint32_t bytes;
    struct overflow_bytes *aside; /* if not NULL: place for bytes for the GPU; call overflow_put
                                   * before the driver's copy */
};

enum conn_use { ROOM_IN, ROOM_OUT, ROOM_STORE }; /* STORE: out, by the network card */

/* Leases room for the next piece of a copy in `stream`; small pieces share slots. ROOM_IN: room for
 * all of `bytes`, at most WIRE_CHUNK. Otherwise room for as many as fit, and for all if they are at
 * most WIRE_CHUNK. Waits while work goes on that will make room. If the stream itself stands still,
 * it leases room of copy_overflow.h. CUDA_ERROR_OUT_OF_MEMORY: there is none, and no work goes on,
 * perhaps until a later call; the log says so. Any error with conn->ended: the connection ends. */
CUresult conn_room(struct server_conn *conn, uint64_t stream, uint64_t bytes, enum conn_use use,
                   struct conn_room *room);
/* Gives the room back unused: no bytes come. */
void conn_room_leave(struct server_conn *conn, struct conn_room *room);
/* Scratch memory of WIRE_CHUNK bytes, padded, for use within one call. NULL: no memory. */
uint8_t *conn_scratch(struct server_conn *conn);

/* Reads bulk bytes of the current call's frame; waits until the client has sent them. GA_LOST: the
 * connection has ended. */
GA_CHECKED enum ga_status conn_bulk(struct server_conn *conn, void *to, size_t size);
/* Drops the bulk bytes of a call that is not done. False: the connection has ended. */
bool conn_bulk_skip(struct server_conn *conn);

/* Makes a context current. If it does not exist any more (or is 0), each of the following calls
 * fails.
 */
void context_switch(struct server_conn *conn, uint64_t handle);

/* ---- session.c: SESSION_OPEN and WINDOW. False ends the connection. `admitted`: the ticket has
 * been used already, for the connection itself. */
bool session_open(struct server_conn *conn, const struct handshake_data_hello *hello,
                  uint64_t sequence, bool admitted);
bool session_window(struct server_conn *conn, const struct wire_header *header,
                    struct ga_reader *reader);

/* ---- Functions for generated and hand-written calls; submit thread only. */

/* Handles to objects of the driver: CUDA_ERROR_INVALID_HANDLE (a context: INVALID_CONTEXT). */
CUresult server_handle_stream(struct server_conn *conn, uint64_t wire, CUstream *real);
CUresult server_handle_event(struct server_conn *conn, uint64_t wire, CUevent *real);
CUresult server_handle_context(struct server_conn *conn, uint64_t wire, CUcontext *real);
CUresult server_handle_module(struct server_conn *conn, uint64_t wire, CUmodule *real);
CUresult server_handle_function(struct server_conn *conn, uint64_t wire, CUfunction *real);
CUresult server_device(struct server_conn *conn, int32_t ordinal, CUdevice *real);
/* CUDA_ERROR_INVALID_VALUE unless the bytes lie in memory of the application. */
CUresult server_range_check(struct server_conn *conn, uint64_t address, uint64_t bytes);
/* Puts a new object of the driver under the client's handle, or destroys it. */
CUresult server_handle_put(struct server_conn *conn, enum ga_handle_type type, uint64_t wire,
                           void *real);

/* What the handler of a call (api/server_dispatch.h) returns instead of the call's result. */
#define SERVER_ANSWERED ((CUresult)-1) /* it has answered, or will */
#define SERVER_BROKEN   ((CUresult)-2) /* the frame makes no sense, or is lost: the end */

/* Answer a call with what its handler has returned. False: the connection ends. */
bool server_answer(struct server_conn *conn, const struct wire_header *header, CUresult rc);
bool server_answer_async(struct server_conn *conn, const struct wire_header *header, CUresult rc);

/* A reply: begin, write the results if rc is CUDA_SUCCESS, end. NULL: no memory, the connection
 * ends. The reply is sent behind answers to work that has finished before it. */
struct ga_writer *server_reply_begin(struct server_conn *conn, const struct wire_header *header,
                                     CUresult rc, size_t bound);
void server_reply_end(struct server_conn *conn);
/* A whole reply, where rc and results are known. */
#define SERVER_REPLY_RESULTS(conn, header, name, rc, results)                                      \
    do {                                                                                           \
        struct ga_writer *writer_ =                                                                \
            server_reply_begin(conn, header, rc, name##_results_bound(results));                   \
        if (writer_ != NULL && (rc) == CUDA_SUCCESS) {                                             \
            name##_results_write(writer_, results);                                                \
        }                                                                                          \
        server_reply_end(conn);                                                                    \
    } while (0)
/* A reply without results. */
void server_reply(struct server_conn *conn, const struct wire_header *header, CUresult rc);
/* Reports that a call that no thread waits for has failed, in the current context (WIRE_ERROR). */
void server_async_error(struct server_conn *conn, const struct wire_header *header, CUresult rc);
/* An entry of the completion thread for the current call. NULL: no memory. */
struct completer_entry *server_entry_make(struct server_conn *conn, enum completer_kind kind);
/* A reply without results to the current call, once `ref` (taken over) has finished. Returns
 * SERVER_ANSWERED. */
CUresult server_reply_after(struct server_conn *conn, struct event_ref *ref, uint64_t lane);

/* Whether the driver's answer condemns the process. */
bool server_is_fault(CUresult rc);
/* Checks a result code of the driver; tells the client of an execution fault, once. Any thread. */
void server_check_fault(struct server_conn *conn, CUresult rc);
/* Memory is gone or the protocol is broken: ends the connection with a log line. */
void server_fail(struct server_conn *conn, const char *why);

#endif
