/* The completion thread of a backend process: looks at the driver's events, sends what is due, and
 * never waits for the socket. See completion_order.h for the order. */
#ifndef SERVER_SESSION_COMPLETER_H
#define SERVER_SESSION_COMPLETER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "server/pipeline/completion_order.h"
#include "server/pipeline/send_queue.h"
#include "server/pipeline/shared_buffers.h"
#include "server/session/objects.h"

struct server_conn;

/* More entries than this, and the submit thread reads no further. */
#define COMPLETIONS_MAX 16384u

#define COMPLETER_FEW 4u

enum completer_kind {
    COMPLETER_REPLY, /* WIRE_REPLY with the result code alone */
    COMPLETER_FRAME, /* a reply that is already written, sent in its turn */
    COMPLETER_DATA,  /* a piece of a copy to the host; the last one is followed by the reply */
    COMPLETER_STORE, /* the same, into memory of the client that the card reaches */
    COMPLETER_DONE,  /* WIRE_DONE */
    COMPLETER_HOST,  /* the same for a host function, whose lease is called then */
    COMPLETER_SLOT,  /* a piece of a copy from the host: the slot is free again */
    COMPLETER_JOB,   /* something for the submit thread to do */
};

struct completer_entry {
    struct completion base;
    enum completer_kind kind;
    uint16_t session;
    uint64_t sequence;
    CUresult rc;
    struct event_ref *event;   /* what is waited for; NULL: nothing, or `events` */
    struct event_ref **events; /* when there are several: `few`, or an owned array */
    struct event_ref *few[COMPLETER_FEW];
    unsigned event_count, events_done;
    struct staging_slot *slot;   /* DATA, STORE, SLOT */
    struct shared_buffer *piece; /* REPLY, STORE: what it copied from or to; NULL: nothing */
    uint8_t *bulk;               /* DATA, STORE: in the slot */
    uint64_t offset;             /* DATA: in the copy; STORE: in the piece */
    uint32_t bytes;
    bool last;
    uint32_t ticket;                                                      /* HOST */
    struct send_queue_frame *frame;                                       /* FRAME */
    void (*job)(struct server_conn *conn, struct completer_entry *entry); /* JOB; keeps it */
    uint64_t job_values[2];
};

struct completer {
    struct server_conn *conn;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t shrunk;
    struct completion_list incoming; /* under the lock */
    struct completion_list entries;  /* of the thread */
    _Atomic size_t outstanding;      /* added and not yet emitted */
    _Atomic uint64_t newest_ns;      /* when somebody last began to wait */
    bool asleep;                     /* under the lock: it must be woken */
    bool ended;
    int wake_fd;
    struct completer_entry *held; /* by the submit thread; NULL: nothing. Else nothing is
                                   * outstanding */
    struct ga_pool unused;        /* entries, for the submit thread */
    struct ga_pool frames;        /* of the thread */
    uint8_t *packed;              /* room for a piece, of who emits it; NULL: none yet */
};

GA_CHECKED enum ga_status completer_start(struct completer *completer, struct server_conn *conn);
/* Stops the thread and joins it. What is outstanding is dropped. */
void completer_stop(struct completer *completer);
/* Makes the thread look at the socket and the entries again. */
void completer_wake(struct completer *completer);

/* Something has happened that work was waiting for: the thread looks often again. Any thread. */
void completer_hurry(struct completer *completer);

/* An entry with nothing to wait for; NULL: no memory. Submit thread only. */
struct completer_entry *completer_entry_make(struct completer *completer, enum completer_kind kind,
                                             uint16_t session, uint64_t sequence);
/* Throws an entry (or NULL) away that was not handed in, or a job that is done. */
void completer_entry_free(struct completer *completer, struct completer_entry *entry);
/* Hands an entry in, from the submit thread only; it may be emitted before this returns. If nothing
 * else is outstanding and the client waits for it, the submit thread keeps it, to look at it while
 * it waits for the next call: nobody has to be woken then. It hands over before it does anything
 * else that may wait. */
void completer_add(struct completer *completer, struct completer_entry *entry);
/* Looks at what is kept. Whether it was emitted: there is something to send. Submit thread only. */
bool completer_look(struct completer *completer);
/* Gives what is kept to the thread. Submit thread only. */
void completer_hand_over(struct completer *completer);
/* Whether everything that was handed in has been emitted. Submit thread only. */
bool completer_is_idle(struct completer *completer);
/* Waits until there are fewer than COMPLETIONS_MAX. GA_LOST: ended. */
GA_CHECKED enum ga_status completer_wait_room(struct completer *completer);

/* ---- copy_chunks.c: COMPLETER_DATA and COMPLETER_STORE, done or failed. `frames`: the pool of the
 * thread that is here. */
void piece_send(struct completer *completer, struct ga_pool *frames,
                const struct completer_entry *entry);
void piece_store(struct completer *completer, struct ga_pool *frames,
                 const struct completer_entry *entry);

/* ---- driver_events.c: events of the driver, counted. The context must be current. */

/* A new one, never recorded: what a client's event is. */
CUresult event_new(struct completer *completer, struct server_context *context, unsigned flags,
                   struct event_ref **ref);
/* One that there is already; destroyed on failure. */
CUresult event_own(struct completer *completer, struct server_context *context, unsigned flags,
                   CUevent real, struct event_ref **ref);
/* A new or a used one, to be recorded at once: those without timing are pooled by context. */
CUresult event_take(struct completer *completer, struct server_context *context, unsigned flags,
                    struct event_ref **ref);
void event_keep(struct completer *completer, struct event_ref *ref);
void event_drop(struct completer *completer, struct event_ref *ref);
/* Takes one without timing and records it on a stream of the context. */
CUresult event_mark(struct completer *completer, struct server_context *context, CUstream stream,
                    struct event_ref **ref);
/* The line of a stream by the client's handle; 0: there is no such stream, or no context. */
uint64_t stream_line(struct server_conn *conn, uint64_t wire);
/* The same for a stream by the client's handle, whatever context is current; also says its line. */
CUresult stream_mark(struct server_conn *conn, uint64_t wire, struct event_ref **ref,
                     uint64_t *line);

#endif
