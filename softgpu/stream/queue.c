/* SPDX-License-Identifier: Apache-2.0 */
/* The order of items: which one may run, and the consequences when one has finished. */
#include "softgpu/stream/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "softgpu/process/print.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/engines.h"
#include "softgpu/stream/events.h"
#include "softgpu/stream/shared_events.h"
#include "softgpu/stream/streams.h"
#include "softgpu/stream/waits.h"

/* Items of all streams at most; submitting waits beyond it, since an application that never waits
 * must not use up the machine's memory. */
#define ITEMS_MAX       65536
#define ITEMS_BYTES_MAX ((size_t)512 << 20)

static unsigned items_pending; /* under the lock, like: */
static size_t items_bytes;

static struct sg_item *stream_head(const struct sg_stream *stream)
{
    return ga_list_empty(&stream->items)
               ? NULL
               : ga_container(stream->items.next, struct sg_item, in_stream);
}

bool sg_stream_older(const struct sg_stream *stream, uint64_t sequence)
{
    const struct sg_item *head = stream_head(stream);
    return head != NULL && head->sequence < sequence;
}

/* Whether the rules of default streams allow the stream to go on: no item older than `sequence`
 * holds it up. */
static bool order_allows(const struct sg_stream *stream, uint64_t sequence)
{
    const struct sg_stream *legacy = sg_stream_legacy(stream);
    if (stream != legacy) {
        return !stream->blocking || legacy == NULL || !sg_stream_older(legacy, sequence);
    }
    ga_list_each (at, following, &stream->context->streams) {
        const struct sg_stream *other = ga_container(at, struct sg_stream, in_context);
        if (other != stream && other->blocking && other->green == stream->green &&
            sg_stream_older(other, sequence)) {
            return false;
        }
    }
    return true;
}

bool sg_stream_passed(const struct sg_stream *stream, uint64_t sequence)
{
    if (sg_stream_older(stream, sequence + 1)) {
        return false;
    }
    return stream != sg_stream_legacy(stream) || order_allows(stream, sequence + 1);
}

/* True: the item needs no engine, and is done now. */
static bool item_instant(struct sg_item *item)
{
    switch (item->kind) {
    case SG_ITEM_RECORD:
        return true;
    case SG_ITEM_WAIT:
        return sg_mark_passed(item->mark);
    case SG_ITEM_STEPS:
        return item->step(item);
    default:
        return false;
    }
}

/* The time of a mark that is reached now. */
static uint64_t record_ns(const struct sg_item *item)
{
    if (!sg_clock_runs(item->stream->context->device)) {
        return ga_clock_ns();
    }
    uint64_t clock = sg_clock_of(item->stream);
    return item->submitted_ns > clock ? item->submitted_ns : clock;
}

static void item_unlink(struct sg_item *item)
{
    struct sg_stream *stream = item->stream;
    const size_t bytes = item->bytes;
    ga_list_remove(&item->in_stream);
    if (item->mark != NULL) {
        if (item->kind == SG_ITEM_RECORD) {
            item->mark->time_ns = record_ns(item);
            sg_mark_set_done(item->mark);
        }
        sg_clock_advance(stream, item->mark->time_ns);
        sg_mark_drop(item->mark);
    }
    if (item->drop != NULL) {
        item->drop(item);
    }
    free(item);
    items_pending--;
    items_bytes -= bytes;
    if (ga_list_empty(&stream->items)) {
        ga_list_remove(&stream->in_active);
    }
    sg_stream_drop(stream); /* last, since it may be the last reference of the stream */
}

/* Starts the item at the head of the stream. True: something changed for other streams. */
static bool stream_advance(struct sg_stream *stream)
{
    bool changed = false;
    struct sg_item *item;
    sg_stream_hold(stream);
    while ((item = stream_head(stream)) != NULL && item->state == SG_ITEM_PENDING &&
           order_allows(stream, item->sequence)) {
        if (item->kind == SG_ITEM_WORK) {
            sg_engine_push(item);
            break;
        }
        if (!item_instant(item)) {
            break;
        }
        item_unlink(item);
        changed = true;
    }
    sg_stream_drop(stream);
    return changed;
}

/* Drops, after condemnation, the items that do not run yet; those with `always` still run in their
 * turn. */
static bool stream_abandon(struct sg_stream *stream)
{
    bool changed = false;
    sg_stream_hold(stream);
    ga_list_each (at, following, &stream->items) {
        struct sg_item *item = ga_container(at, struct sg_item, in_stream);
        if (item->always && item->state == SG_ITEM_PENDING && stream_head(stream) == item) {
            sg_engine_push(item);
        }
        if (item->always || item->state == SG_ITEM_RUNNING ||
            (item->give_up != NULL && item->give_up(item))) {
            continue;
        }
        if (item->state == SG_ITEM_QUEUED) {
            sg_engine_remove(item);
        }
        item_unlink(item);
        changed = true;
    }
    sg_stream_drop(stream);
    return changed;
}

static bool again;

void sg_schedule_again(void)
{
    again = true;
}

void sg_schedule(void)
{
    bool condemned = false, changed = true;
    while (changed || again || condemned != (atomic_load(&sg_process.condemned) != 0)) {
        changed = again = false;
        condemned = atomic_load(&sg_process.condemned) != 0;
        ga_list_each (at, following, &sg_process.active) {
            struct sg_stream *stream = ga_container(at, struct sg_stream, in_active);
            changed |= condemned ? stream_abandon(stream) : stream_advance(stream);
        }
    }
    sg_waits_wake();
}

void sg_item_finish(struct sg_item *item, CUresult rc)
{
    if (rc != CUDA_SUCCESS) {
        sg_process_condemn(rc);
    }
    if (item->finished != NULL) {
        item->finished(item, item->owner);
        return;
    }
    item_unlink(item);
    sg_schedule();
}

void *sg_item_make(size_t bytes, unsigned engine, CUresult (*run)(struct sg_item *item))
{
    struct sg_item *item = calloc(1, bytes);
    if (item != NULL) {
        item->kind = SG_ITEM_WORK;
        item->bytes = bytes;
        item->engine = engine;
        item->run = run;
        ga_list_init(&item->in_stream);
        ga_list_init(&item->in_engine);
    }
    return item;
}

static bool queue_has_room(const void *argument)
{
    (void)argument;
    return items_pending < ITEMS_MAX && items_bytes < ITEMS_BYTES_MAX;
}

/* Appends the item; the caller starts it. */
static void stream_append(struct sg_stream *stream, struct sg_item *item)
{
    sg_stream_hold(stream);
    if (!queue_has_room(NULL) && !item->at_once) {
        (void)sg_wait_for(queue_has_room,
                          NULL); /* in a condemned process the item is dropped later, like all */
    }
    item->stream = stream;
    item->priority = item->prioritised ? item->priority : stream->attributes.priority;
    item->sequence = ++sg_process.sequence;
    item->submitted_ns = sg_clock_runs(stream->context->device) ? ga_clock_ns() : 0;
    if (ga_list_empty(&stream->items)) {
        ga_list_append(&sg_process.active, &stream->in_active);
    }
    ga_list_append(&stream->items, &item->in_stream);
    items_pending++;
    items_bytes += item->bytes;
}

void sg_submit(struct sg_stream *stream, struct sg_item *item)
{
    stream_append(stream, item);
    if (atomic_load(&sg_process.condemned) != 0 || stream_head(stream) == item) {
        /* Only the head can start, and an item without an engine may free others. */
        sg_schedule();
    }
}

struct stream_point {
    const struct sg_stream *stream;
    uint64_t sequence;
};

static bool item_passed(const void *argument)
{
    const struct stream_point *point = argument;
    return !sg_stream_older(point->stream, point->sequence + 1);
}

CUresult sg_submit_wait(struct sg_stream *stream, struct sg_item *item)
{
    sg_stream_hold(stream);
    stream_append(stream, item);
    uint64_t sequence = item->sequence;
    bool ready = stream_head(stream) == item && order_allows(stream, sequence) &&
                 atomic_load(&sg_process.condemned) == 0;
    if (!ready || !sg_engine_run_here(item)) {
        sg_schedule();
    }
    struct stream_point point = {.stream = stream, .sequence = sequence};
    CUresult rc = sg_wait_for(item_passed, &point);
    sg_print_due(stream->context->print);
    sg_stream_drop(stream);
    return rc;
}

static CUresult submit_mark(struct sg_stream *stream, struct sg_mark *mark, enum sg_item_kind kind,
                            bool at_once)
{
    struct sg_item *item = sg_item_make(sizeof *item, GPU_COMPUTE, NULL);
    if (item == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    item->kind = kind;
    item->mark = mark;
    item->at_once = at_once;
    sg_mark_hold(mark);
    sg_submit(stream, item);
    return CUDA_SUCCESS;
}

CUresult sg_submit_record(struct sg_stream *stream, struct sg_mark *mark)
{
    return submit_mark(stream, mark, SG_ITEM_RECORD, false);
}

CUresult sg_submit_wait_mark(struct sg_stream *stream, struct sg_mark *mark)
{
    return sg_mark_done(mark) ? CUDA_SUCCESS : submit_mark(stream, mark, SG_ITEM_WAIT, false);
}

struct sg_mark *sg_stream_mark(struct sg_stream *stream)
{
    struct sg_mark *mark = sg_mark_make();
    if (mark != NULL && submit_mark(stream, mark, SG_ITEM_RECORD, true) != CUDA_SUCCESS) {
        sg_mark_drop(mark);
        mark = NULL;
    }
    return mark;
}

CUresult sg_stream_follow(struct sg_stream *stream, struct sg_mark *mark)
{
    return mark->done ? CUDA_SUCCESS : submit_mark(stream, mark, SG_ITEM_WAIT, true);
}
