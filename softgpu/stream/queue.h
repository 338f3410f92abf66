/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as real asynchronous queues.
 *
 * Every item has a number from one sequence in the order of submission. The item at the head of its
 * stream may run when
 *   - in the legacy stream: no blocking stream of the context has an older item;
 *   - in a blocking stream: the legacy stream has no older item;
 *     (a green context has a legacy stream of its own, and its streams have that order with it)
 *   - and, if it waits for a mark (an event as it was recorded last): the mark is done.
 * Marks are made before what waits for them, so nothing can wait in a circle. (What waits for a
 * value in memory can: CUDA warns of that.) Records, waits and single values happen under the lock;
 * work is given to an engine of the device, whose threads run it without.
 * All functions want the process's lock held unless they say otherwise. */
#ifndef SOFTGPU_STREAM_QUEUE_H
#define SOFTGPU_STREAM_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "front/front.h"
#include "softgpu/process/context.h"
#include "softgpu/process/device.h"
#include "softgpu/timing/timing.h"

#define SG_PRIORITY_MIN      0
#define SG_PRIORITY_GREATEST (-5)

struct sg_stream {
    struct ga_list in_context;
    struct ga_list in_active; /* process's list of streams with items */
    struct ga_list items;
    struct sg_context *context; /* held */
    struct sg_green *green;     /* held; NULL: of none */
    uint64_t handle;            /* 0: a default stream, which has none */
    uint64_t thread;            /* of which thread it is the default stream; 0: of none */
    uint64_t id;
    uint64_t clock_ns; /* clock.h: when what has run in it was over by the timing model */
    unsigned flags;
    struct front_stream_attributes attributes;
    bool blocking;  /* takes part in the legacy stream's order */
    bool destroyed; /* its handle is gone; freed with its last item and reference */
    unsigned references;
};

/* What an event meant when it was recorded: shared by the event and by those who wait for it. */
struct sg_mark {
    unsigned references;
    bool done;
    uint64_t time_ns; /* when; valid once done */
    /* A recording of an event that processes share; NULL: none */
    struct sg_node_event *shared;
    uint64_t shared_id, number;
    bool here;         /* this process has recorded it; else `done` is found out by asking */
    uint64_t since_ns; /* when it was first found to be waited for */
};

struct sg_event {
    uint64_t handle;
    struct ga_list in_context;
    struct sg_context *context;
    unsigned flags;
    struct sg_mark *mark;         /* NULL: never recorded */
    struct sg_node_event *shared; /* with other processes; NULL: it is not */
    uint64_t shared_id;
    bool shared_here; /* made by this process */
};

enum sg_item_kind { SG_ITEM_WORK, SG_ITEM_RECORD, SG_ITEM_WAIT, SG_ITEM_STEPS };
enum sg_item_state { SG_ITEM_PENDING, SG_ITEM_QUEUED, SG_ITEM_RUNNING };

/* What an item is, for people (trace.h). `name` lives as long as the item; NULL: not told of. */
struct sg_note {
    const char *name, *unit;
    uint64_t amount; /* of `unit` */
};

struct sg_item {
    struct ga_list in_stream;
    struct ga_list in_engine;
    struct sg_stream *stream;
    uint64_t sequence;
    enum sg_item_kind kind;
    enum sg_item_state state;
    enum sg_engine_kind engine;
    bool prioritised; /* has a priority of its own; else submitting gives it the stream's */
    int priority;
    bool always;  /* WORK: runs also in a condemned process */
    bool at_once; /* submitting it never waits: the caller bounds how many there are */
    /* The timing model: what it asks of its engine, known when it has run; when it was submitted,
     * and when it is over. */
    struct sg_demand demand;
    uint64_t submitted_ns, end_ns;
    struct sg_note note;
    struct sg_mark *mark; /* RECORD, WAIT: held */
    /* STEPS: its turn has come, or something may have come that it waits for; true: it is done.
     * With the lock. */
    bool (*step)(struct sg_item *item);
    /* STEPS: gives up what it has begun and does not run yet; true: something of it still runs.
     * With the lock. NULL: it begins nothing. */
    bool (*give_up)(struct sg_item *item);
    /* WORK: runs without the lock; anything but CUDA_SUCCESS condemns the process. */
    CUresult (*run)(struct sg_item *item);
    /* Gives back what the item holds, run or not (with the lock); NULL: nothing. The item itself is
     * freed by the queue. */
    void (*drop)(struct sg_item *item);
    /* WORK that is in no stream, but of an executable graph: it has run. With the lock. `stream` is
     * one of the context it runs in. NULL: the stream goes on. */
    void (*finished)(struct sg_item *item, void *owner);
    void *owner;
};

/* ---- streams.c ---- */

/* `green` NULL: of none. */
CUresult sg_stream_make_in(struct sg_context *context, struct sg_green *green, unsigned flags,
                           int priority, struct sg_stream **stream);
CUresult sg_stream_make(struct sg_context *context, unsigned flags, int priority,
                        struct sg_stream **stream);
void sg_stream_destroy(struct sg_stream *stream);
/* The default stream of the calling thread in this context (and green context). */
CUresult sg_stream_of_thread(struct sg_context *context, struct sg_green *green,
                             struct sg_stream **stream);
/* The legacy stream that the stream's order is about; NULL: it is gone. */
struct sg_stream *sg_stream_legacy(const struct sg_stream *stream);
void sg_stream_hold(struct sg_stream *stream);
void sg_stream_drop(struct sg_stream *stream);
/* Has everything submitted to it up to `sequence` finished? For the legacy stream this includes
 * what it waits for. */
bool sg_stream_passed(const struct sg_stream *stream, uint64_t sequence);

struct sg_mark *sg_mark_make(void);
void sg_mark_hold(struct sg_mark *mark);
void sg_mark_drop(struct sg_mark *mark);

CUresult sg_event_make(struct sg_context *context, unsigned flags, struct sg_event **event);
void sg_event_destroy(struct sg_event *event);

/* ---- shared_events.c: events that processes share (cuIpcGetEventHandle) ---- */

/* CUDA_ERROR_OUT_OF_MEMORY: the node has too many. */
CUresult sg_event_share(struct sg_event *event);
/* The event is about to be destroyed. */
void sg_event_unshare(struct sg_event *event);
/* Makes `mark` that of the last recording, if another process has made it. */
void sg_event_refresh(struct sg_event *event);
/* The mark is that of a new recording. */
void sg_mark_number(struct sg_mark *mark, const struct sg_event *event);
void sg_mark_set_done(struct sg_mark *mark);
bool sg_mark_done(struct sg_mark *mark);
/* The same for who waits: it is looked at again soon. */
bool sg_mark_passed(struct sg_mark *mark);

/* Is something submitted before `sequence` still in the stream? */
bool sg_stream_older(const struct sg_stream *stream, uint64_t sequence);

/* ---- queue.c ---- */

/* A zeroed item of `bytes` (its struct begins with a struct sg_item). Free what was not submitted
 * with free(). NULL: no memory. */
void *sg_item_make(size_t bytes, enum sg_engine_kind engine, CUresult (*run)(struct sg_item *item));
/* Puts the item, now the queue's, at the end of the stream. Waits while the queue is overfull. */
void sg_submit(struct sg_stream *stream, struct sg_item *item);
/* The same, and waits until it has finished; may run it in the calling thread. What kernels of the
 * context have printed is due then. */
CUresult sg_submit_wait(struct sg_stream *stream, struct sg_item *item);
CUresult sg_submit_record(struct sg_stream *stream, struct sg_mark *mark);
CUresult sg_submit_wait_mark(struct sg_stream *stream, struct sg_mark *mark);
/* What the stream has been given so far, as a mark of the caller's; and the wait for one. Neither
 * lets go of the lock. NULL: no memory. */
struct sg_mark *sg_stream_mark(struct sg_stream *stream);
CUresult sg_stream_follow(struct sg_stream *stream, struct sg_mark *mark);

/* ---- context_events.c: all streams of a context, or of a green context, at once ---- */

struct sg_whole {
    struct sg_context *context;
    struct sg_green *green; /* NULL: the context and all its green contexts */
};

/* The mark is done when all that the streams were given so far is. */
CUresult sg_whole_record(const struct sg_whole *whole, struct sg_mark *mark);
/* What the streams are given from now on waits for the mark, in streams that are made later as
 * well. */
CUresult sg_whole_follow(const struct sg_whole *whole, struct sg_mark *mark);
/* The stream is new. */
CUresult sg_whole_follow_gates(struct sg_stream *stream);
/* The context, or the green context, is emptied. */
void sg_whole_drop_gates(struct ga_list *gates);

/* ---- values.c: values in memory that streams write and wait for ---- */

struct sg_value {
    uint64_t address, value;
    unsigned bytes; /* 4 or 8 */
    bool write;     /* else it is waited for */
    CUstreamWaitValue_flags wait;
};
/* CUDA_ERROR_INVALID_VALUE: not aligned, or no memory that the device may use. */
CUresult sg_value_check(const struct sg_value *value);
/* Values are looked at by a thread: once, before the first that is waited for. */
CUresult sg_values_start(void);
/* Writes it, or looks whether it has come; false: not yet, it is to be tried again by a step.
 * `since_ns` is 0 before the first try. After a failed check the process is condemned, and it is
 * true. */
bool sg_value_try(const struct sg_value *value, uint64_t *since_ns);
/* What a stream or a thread waits for will not tell: sg_schedule is called soon. `*since_ns` is 0
 * at first. */
void sg_look_again(uint64_t *since_ns);
/* After sg_value_check. */
CUresult sg_submit_value(struct sg_stream *stream, const struct sg_value *value);

/* Runs what may run, after something changed. */
void sg_schedule(void);
/* A step has changed something for other streams. */
void sg_schedule_again(void);
/* Ends an item that ran, or that will not. */
void sg_item_finish(struct sg_item *item, CUresult rc);

/* ---- waits.c ---- */

/* What kernels have printed is due when somebody has waited for a stream or a context.
 *
 * Waits, releasing the lock meanwhile, until `passed(argument)`, which is called with the lock
 * held, or until the process is condemned (whose code it returns). */
CUresult sg_wait_for(bool (*passed)(const void *argument), const void *argument);
/* The same before a teardown: the process being condemned is no reason to go on (what runs still
 * runs), but once exit() has begun what runs is told to stop after a second, and false is the
 * answer when it has not a second later. */
bool sg_wait_quiet(bool (*passed)(const void *argument), const void *argument);
CUresult sg_stream_wait(struct sg_stream *stream);
CUresult sg_mark_wait(struct sg_mark *mark);
/* Everything submitted so far, in every context. */
CUresult sg_process_wait(void);
/* As sg_context_quiet, for all contexts. */
bool sg_process_quiet(void);
/* Wakes those whose time has come. */
void sg_waits_wake(void);

/* ---- engines.c ---- */

/* Gives a ready item to its engine and sees to a thread for it. */
void sg_engine_push(struct sg_item *item);
/* Ends one whose time has come by the timing model. */
void sg_engine_end(struct sg_item *item);
/* Takes an item back that was pushed and does not run yet. */
void sg_engine_remove(struct sg_item *item);
/* Runs the ready item in the calling thread if its engine has a free lane. Releases the lock
 * meanwhile. False: it has not. */
bool sg_engine_run_here(struct sg_item *item);

#endif
