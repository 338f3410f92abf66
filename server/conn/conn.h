/* SPDX-License-Identifier: Apache-2.0 */
/* A data connection: one application's ordered stream of calls.
 *
 * The submit thread reads, checks and submits. It waits neither for a GPU nor for the socket, with
 * two exceptions: for room (a full send queue; no free staging slot, as long as slots come back),
 * and for work that is submitted to a context while that is being ended. Calls of the driver that
 * may wait are made by other threads (waiting_calls.h). All state of the application belongs to the
 * submit thread. The completion thread (completer.h) reports finished work. */
#ifndef SERVER_CONN_CONN_H
#define SERVER_CONN_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/handshake.h"
#include "api/wire.h"
#include "base/cursor.h"
#include "base/spin.h"
#include "server/app/app.h"
#include "server/app/carrier.h"
#include "server/channel.h"
#include "server/conn/bulk.h"
#include "server/conn/completer.h"
#include "server/conn/waiting_calls.h"
#include "server/pipeline/copy_overflow.h"
#include "server/pipeline/host_calls.h"
#include "server/pipeline/send_queue.h"
#include "server/pipeline/shared_buffers.h"
#include "server/pipeline/staging.h"
#include "transport/transport.h"

#define CONN_BUFFER_BYTES 131072u /* holds a frame of WIRE_VALUES_MAX (see frame_values) */

/* Callbacks of a connection to its process. */
struct conn_host {
    void *user;
    /* Uses the ticket of a SESSION_OPEN. GA_DENIED with `why`. */
    enum ga_status (*ticket)(void *user, const struct handshake_data_hello *hello,
                             const char **why);
    /* The driver's ordinal of the GPU that serves the hello's device, as its ticket says; -1: not
     * of this process. */
    int (*ordinal)(void *user, const struct handshake_data_hello *hello);
    /* Whether bulk may be compressed. May be NULL: no. */
    bool (*compresses)(void *user);
    /* Makes tickets for bulk connections beside this one; how many. May be NULL: there are none. */
    unsigned (*bulk_tickets)(void *user, const struct transport_conn *conn,
                             struct channel_ticket made[WIRE_BULKS_MAX]);
    /* Between two frames. NULL: nothing. Only in builds for tests. */
    void (*between_frames)(void *user, struct server_app *app);
    /* The connection has ended; `why` in words. `clean`: nothing of it is left in the process, and
     * conn_free may be called. Called once, by the submit thread, as its last act. */
    void (*ended)(void *user, const char *why, bool clean);
    uint64_t client_cache; /* limit on bytes that the client caches, of each device; see
                            * conf/keys.def */
};

struct server_conn {
    struct server_app *app; /* whose calls it carries */
    const struct conn_host *host;
    struct transport_conn transport;
    struct frame_reader reader;
    struct send_queue out;
    struct completer completer;
    struct waiting_calls waiting;
    struct ga_pool frames; /* of the submit thread */
    struct staging staging;
    struct server_bulk bulk;
    struct shared_buffers shared_buffers;
    struct host_calls host_calls;
    bool takes_trim;       /* the client understands WIRE_TRIM */
    bool takes_notices;    /* and WIRE_NOTICE */
    _Atomic bool welcomed; /* the client has been answered: before, it expects nothing else */
    char *_Atomic notice;  /* that waits for it; malloc-ed; NULL: none */
    bool lacks;            /* any of the following */
    struct api_op_set lacking, silent; /* client's calls that this build lacks */
    uint64_t calls;                    /* sequence of the last call */
    uint64_t queue_bytes;
    struct staging_slot *shared; /* slot for small pieces, with a lease for this pointer; or NULL */
    uint32_t shared_used;
    uint64_t overflow_wait_ns;
    uint64_t still, hopeless; /* staging_moves since which no work goes on; and no room is left */
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
    pthread_mutex_t job_lock;
    struct ga_list jobs;   /* completer_entry.base.link */
    atomic_uint job_count; /* and CONN_TAKES_TURNS */
    struct ga_list ends;   /* jobs that run between frames only */
    atomic_uint end_count;
};

/* A connection as the rooms below know it. */
extern const struct app_carrier conn_carrier;
/* That which carries the application's calls; one that has none is not asked. */
static inline struct server_conn *conn_of(const struct server_app *app)
{
    return app->carried_by;
}

#define CONN_TAKES_TURNS (1u << 31) /* a job, too: see conn_take_turns */

/* Carries the application from now on, which nothing does yet, for a client that has sent `hello`,
 * whose ticket has been used. Takes ownership of the connection and the reader (which is at the
 * hello, and may hold bytes behind it) if it returns GA_OK. */
GA_CHECKED enum ga_status conn_start(struct server_conn **out, struct server_app *app,
                                     const struct conn_host *host,
                                     const struct transport_conn *transport,
                                     const struct frame_reader *reader,
                                     const struct channel_setup *setup,
                                     const struct handshake_data_hello *hello, uint64_t sequence);
/* Makes the submit thread end soon; from any thread. */
void conn_end(struct server_conn *conn);
/* Its host gives gates to sessions from now on: those that are there get theirs as soon as the
 * submit thread looks. Main thread, while the connection is there. */
void conn_take_turns(struct server_conn *conn);
/* The end of the application and of its connection: the work is waited for, the objects are freed,
 * its completion thread is stopped, its connections are closed, its memory is
 * unpinned. False: something cannot be ended (it is logged); the process must end instead. Submit
 * thread, as its last act. */
bool conn_wind_up(struct server_conn *conn);
/* Joins the submit thread, whose end was not clean: the connection stays until the process ends. */
void conn_join(struct server_conn *conn);
/* Joins the submit thread, whose end was clean, and frees the connection; nothing carries the
 * application any more. The thread that has started it. */
void conn_free(struct server_conn *conn);

/* Frees a connection that has no thread any more, nor any object; what it was started with stays
 * the caller's. */
void conn_unmake(struct server_conn *conn);

/* Sends as much as the socket takes; the completion thread sends the rest. Call before each call of
 * the driver that may wait for the GPU, because the GPU may wait for a client that waits for an
 * answer in the queue. */
void conn_flush(struct server_conn *conn);
/* Hands a job to the submit thread. Takes the entry. Any thread. */
void conn_add_job(struct server_conn *conn, struct completer_entry *entry);
/* Runs the jobs that have been handed in, but for those that run between frames. */
void conn_run_jobs(struct server_conn *conn);
/* Runs the others: no call is being carried out. */
void conn_run_ends(struct server_conn *conn);
/* Whether nobody waits for work any more: the connection has ended, and this is not its end. */
bool conn_gives_up(const struct server_conn *conn);
/* Runs jobs until `*done` is set. GA_LOST: the connection ends. GA_TIMEOUT: at the end, the work
 * is not done in time. */
GA_CHECKED enum ga_status conn_wait(struct server_conn *conn, const bool *done);
/* Waits until there is room for what the next call may produce. GA_LOST. */
GA_CHECKED enum ga_status conn_wait_room(struct server_conn *conn);
/* Waits as staging_wait does; meanwhile the application's turns are returned. */
bool conn_wait_moves(struct server_conn *conn, struct staging_moves seen, uint64_t most_ns);
/* Does what waits to be done, and sleeps until the thread is woken, for so long at most. */
void conn_pause(struct server_conn *conn, uint64_t most_ns);
/* Sleeps until the thread is woken or, unless `from` is NULL, `wanted` is possible on it. */
void conn_poll(struct server_conn *conn, struct transport_conn *from, short wanted);

/* Reads bulk bytes of the current call's frame; waits until the client has sent them. GA_LOST: the
 * connection has ended. */
GA_CHECKED enum ga_status conn_bulk(struct server_conn *conn, void *to, size_t size);
/* Drops the bulk bytes of a call that is not done. False: the connection has ended. */
bool conn_bulk_skip(struct server_conn *conn);

#endif
