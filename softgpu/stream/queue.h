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
#include "softgpu/process/device.h"
#include "softgpu/timing/timing.h"

struct sg_mark;
struct sg_stream;

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

/* Has everything submitted to it up to `sequence` finished? For the legacy stream this includes
 * what it waits for. */
bool sg_stream_passed(const struct sg_stream *stream, uint64_t sequence);

/* Is something submitted before `sequence` still in the stream? */
bool sg_stream_older(const struct sg_stream *stream, uint64_t sequence);

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

/* Runs what may run, after something changed. */
void sg_schedule(void);

/* A step has changed something for other streams. */
void sg_schedule_again(void);

/* Ends an item that ran, or that will not. */
void sg_item_finish(struct sg_item *item, CUresult rc);

#endif
