/* SPDX-License-Identifier: Apache-2.0 */
/* The completion thread of a backend process: polls the driver's events, sends the answers that are
 * due, and never waits for the socket. See completion_order.h for the order. */
#ifndef SERVER_CONN_COMPLETER_H
#define SERVER_CONN_COMPLETER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "server/app/objects.h"
#include "server/conn/waiting_calls.h"
#include "server/objects/driver_events.h"
#include "server/pipeline/completion_order.h"
#include "server/pipeline/send_queue.h"
#include "server/pipeline/shared_buffers.h"

struct server_app;
struct server_conn;

/* With this many entries outstanding the submit thread reads no further calls. */
#define COMPLETIONS_MAX 16384u

enum completer_kind {
    COMPLETER_REPLY, /* WIRE_REPLY with the result code alone */
    COMPLETER_FRAME, /* a reply that is already written, sent in its turn */
    COMPLETER_DATA,  /* a piece of a copy to the host; the last one is followed by the reply */
    COMPLETER_STORE, /* as DATA, but by RDMA into memory of the client */
    COMPLETER_DONE,  /* WIRE_DONE */
    COMPLETER_HOST,  /* WIRE_DONE of a host call: its turn has come */
    COMPLETER_SLOT,  /* a piece of a copy from the host: the slot is free again */
    COMPLETER_JOB,   /* something for the submit thread to do */
};

struct completer_entry {
    struct completion base;
    enum completer_kind kind;
    uint16_t session;
    uint64_t sequence;
    CUresult rc;
    struct event_ref *event;     /* the event to wait for; NULL: none, or `marks` */
    struct event_marks marks;    /* when there may be several */
    unsigned marks_done;         /* of them, from the first on */
    struct staging_slot *slot;   /* DATA, STORE, SLOT */
    struct shared_buffer *piece; /* REPLY, STORE: the shared buffer of the copy, or NULL */
    uint8_t *bulk;               /* DATA, STORE: in the slot */
    uint64_t offset;             /* DATA: in the copy; STORE: in the piece */
    uint32_t bytes;
    bool last;
    uint32_t host_call_id;                                              /* HOST */
    struct send_queue_frame *frame;                                     /* FRAME */
    void (*job)(struct server_app *app, struct completer_entry *entry); /* JOB; keeps it */
    uint64_t job_values[2];
    struct waiting_call waits; /* JOB: what a thread that may wait does before it */
    bool between_frames;       /* JOB: it ends what the handler of a call may be using */
};

struct completer {
    struct server_app *app;
    struct server_conn *conn; /* which tells */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t shrunk;
    struct completion_list incoming; /* under the lock */
    struct completion_list entries;  /* of the thread */
    _Atomic size_t outstanding;      /* added and not yet emitted */
    _Atomic uint64_t newest_ns;      /* when a client last began to wait */
    bool asleep;                     /* under the lock: it must be woken */
    bool ended;
    int wake_fd;
    struct completer_entry *held; /* kept by the submit thread, which is then the only entry
                                   * outstanding; or NULL */
    struct ga_pool unused;        /* entries, for the submit thread */
    struct ga_pool frames;        /* of the thread */
    uint8_t *compressed;          /* room for a piece, of who emits it; NULL: none yet */
};

void completer_init(struct completer *completer, struct server_conn *conn);
/* Starts the thread. */
GA_CHECKED enum ga_status completer_start(struct completer *completer);
/* Stops the thread and joins it. Outstanding entries are dropped. */
void completer_stop(struct completer *completer);
/* Frees what is left when the thread has stopped, or was never started, and no entry is taken. */
void completer_fini(struct completer *completer);
/* Makes the thread look at the socket and the entries again. */
void completer_wake(struct completer *completer);

/* Work on the GPU may go on now, so the thread polls often again. Any thread. */
void completer_expedite(struct completer *completer);

/* An entry with nothing to wait for; NULL: no memory. Submit thread only. */
struct completer_entry *completer_entry_make(struct completer *completer, enum completer_kind kind,
                                             uint16_t session, uint64_t sequence);
/* Frees an entry (or NULL) that was not handed in, or a job that is done. */
void completer_entry_free(struct completer *completer, struct completer_entry *entry);
/* Hands an entry in, from the submit thread only; it may be emitted before this returns. If no
 * other entry is outstanding and the client waits for it, the submit thread keeps it (`held`) and
 * polls it while it waits for the next call, so that the completion thread need not be woken. It
 * hands the entry over before it does anything else that may wait. */
void completer_add(struct completer *completer, struct completer_entry *entry);
/* Polls the held entry. True: it was emitted, so there is something to send. Submit thread only. */
bool completer_poll(struct completer *completer);
/* Gives the held entry to the completion thread. Submit thread only. */
void completer_hand_over(struct completer *completer);
/* Whether everything that was handed in has been emitted. Submit thread only. */
bool completer_is_idle(struct completer *completer);
/* Waits until there are fewer than COMPLETIONS_MAX. GA_LOST: the connection has ended. Submit
 * thread only. */
GA_CHECKED enum ga_status completer_wait_room(struct completer *completer);
/* Wakes the submit thread, if it waits for room, after the connection's end. Any thread. */
void completer_interrupt(struct completer *completer);

#endif
