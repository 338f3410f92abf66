/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as asynchronous queues.
 *
 * Every item has a number from one sequence in the order of submission. The item at the head of its
 * stream may run if all of these hold: in the legacy stream, no blocking stream of the context has
 * an older item; in a blocking stream, the legacy stream has no older item (a green context has a
 * legacy stream of its own, for its own streams); if it waits for a mark (one recording of an
 * event), the mark is done.
 *
 * Marks are made before the items that wait for them, so no circle of waits can arise. (Waits for a
 * value in memory can form one: CUDA warns of that.) Records, waits and single values happen under
 * the lock; other work goes to an engine of the device, whose threads run it without the lock. All
 * functions want the process's lock held unless they say otherwise. */
#ifndef SOFTGPU_STREAM_QUEUE_H
#define SOFTGPU_STREAM_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "front/front.h"
#include "softgpu/process/device.h"
#include "model/timing.h"

struct sg_mark;
struct sg_stream;

enum sg_item_kind { SG_ITEM_WORK, SG_ITEM_RECORD, SG_ITEM_WAIT, SG_ITEM_STEPS };
enum sg_item_state { SG_ITEM_PENDING, SG_ITEM_QUEUED, SG_ITEM_RUNNING };

/* Name and amount of an item for the trace (trace.h). `name` lives as long as the item; NULL: not
 * traced. */
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
    unsigned engine;  /* enum gpu_engine, or SG_ENGINE_HOST */
    bool prioritised; /* it has a priority of its own; otherwise submitting gives it the stream's */
    int priority;
    size_t bytes; /* of memory that it holds */
    bool always;  /* WORK: runs also in a condemned process */
    bool at_once; /* submitting it never waits, because the caller bounds their number */
    /* The timing model: the demand on its engine, known when it has run; the times of submission
     * and end. */
    struct model_demand demand;
    uint64_t submitted_ns, end_ns;
    uint64_t ran_ns;   /* when it had run */
    uint64_t start_ns; /* by the timing model, as it is foreseen */
    uint64_t work_id; /* its work in the flow, or the ledger, of the device, if that may move; 0: it
                       * does not */
    uint64_t late_ns; /* after it was ready it came into the flow */
    struct sg_note note;
    struct sg_mark *mark; /* RECORD, WAIT: held */
    /* STEPS: called when its turn has come, and when a value that it waits for may have come; true:
     * it is done. With the lock. */
    bool (*step)(struct sg_item *item);
    /* STEPS: drops its parts that do not run yet; true: some still run. With the lock. NULL: it has
     * no parts. */
    bool (*give_up)(struct sg_item *item);
    /* WORK: runs without the lock; any result but CUDA_SUCCESS condemns the process. */
    CUresult (*run)(struct sg_item *item);
    /* Frees what the item holds, whether it has run or not (with the lock); NULL: it holds nothing.
     * The queue frees the item itself. */
    void (*drop)(struct sg_item *item);
    /* WORK of an executable graph, which is in no stream: called with the lock when it has run.
     * `stream` is one of the context it runs in. NULL: WORK of a stream, which goes on. */
    void (*finished)(struct sg_item *item, void *owner);
    void *owner;
};

/* Whether all items up to `sequence` have finished, in the legacy stream also those that it waits
 * for. */
bool sg_stream_passed(const struct sg_stream *stream, uint64_t sequence);

/* Whether an item submitted before `sequence` is still in the stream. */
bool sg_stream_older(const struct sg_stream *stream, uint64_t sequence);

/* A zeroed item of `bytes` (its struct begins with a struct sg_item). An item that was not
 * submitted is freed by free(). NULL: no memory. */
void *sg_item_make(size_t bytes, unsigned engine, CUresult (*run)(struct sg_item *item));

/* Appends the item to the stream, which owns it from now on. Waits while there are too many
 * items. */
void sg_submit(struct sg_stream *stream, struct sg_item *item);

/* As sg_submit, and waits until it has finished; may run it in the calling thread. Output of the
 * context's kernels is due afterwards. */
CUresult sg_submit_wait(struct sg_stream *stream, struct sg_item *item);
CUresult sg_submit_record(struct sg_stream *stream, struct sg_mark *mark);
CUresult sg_submit_wait_mark(struct sg_stream *stream, struct sg_mark *mark);

/* sg_stream_mark: the work of the stream so far as a mark, which the caller holds; NULL: no memory.
 * sg_stream_follow: the stream waits for a mark. Neither releases the lock. */
struct sg_mark *sg_stream_mark(struct sg_stream *stream);
CUresult sg_stream_follow(struct sg_stream *stream, struct sg_mark *mark);

/* Runs all items that may run. Called after a change. */
void sg_schedule(void);

/* Called by a step that has changed something for other streams. */
void sg_schedule_again(void);

/* Ends an item that ran, or that will not run. */
void sg_item_finish(struct sg_item *item, CUresult rc);

#endif
