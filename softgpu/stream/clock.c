/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that ends items by the timing model, and the report at the end of the process. */
#include "softgpu/stream/clock.h"

#include <inttypes.h>
#include <string.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"
#include "softgpu/process/config.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/device_flow.h"
#include "softgpu/stream/device_ledger.h"
#include "softgpu/stream/engines.h"
#include "softgpu/stream/streams.h"
#include "softgpu/stream/trace.h"
#include "model/timeline.h"
#include "model/constants.h"

/* Nobody says that a process has died. */
#define LOOK_NS (25 * GA_NS_PER_MS)

/* Everything is under the process's lock; only `started` is read without it. */
static _Atomic bool started;
static pthread_cond_t changed; /* the first item of `due` has changed */
static struct ga_list due;     /* items that have run, by their end */
static uint64_t looked_ns;     /* when it was last looked whether others that have work live */

static struct {
    uint64_t begin_ns, end_ns; /* the times of the first and the last item */
    uint64_t items, busy_ns;
    uint64_t seen[SG_DEVICES_MAX / 64]; /* one bit for each device that had items */
    unsigned devices;
    uint64_t late_items, late_ns, latest_ns;
    uint64_t alone; /* items that found no room beside others' */
    bool told;      /* it was said that the run is void, when so much was late */
    uint64_t told_late_ns;
} run;

uint64_t sg_clock_of(const struct sg_stream *stream)
{
    const struct sg_stream *legacy = sg_stream_legacy(stream);
    uint64_t ns = stream->clock_ns;
    if (stream != legacy) {
        bool waits = stream->blocking && legacy != NULL;
        return waits && legacy->clock_ns > ns ? legacy->clock_ns : ns;
    }
    ga_list_each (at, following, &stream->context->streams) {
        const struct sg_stream *other = ga_container(at, struct sg_stream, in_context);
        bool counts = other->blocking && other->green == stream->green;
        ns = counts && other->clock_ns > ns ? other->clock_ns : ns;
    }
    return ns;
}

void sg_clock_advance(struct sg_stream *stream, uint64_t ns)
{
    stream->clock_ns = ns > stream->clock_ns ? ns : stream->clock_ns;
}

static struct sg_item *first_due(void)
{
    return ga_list_empty(&due) ? NULL : ga_container(due.next, struct sg_item, in_engine);
}

/* As a share of the time of all devices together. */
static double late_share(void)
{
    return (double)run.late_ns / ((double)(run.end_ns - run.begin_ns + 1) * run.devices);
}

static bool run_is_void(void)
{
    return late_share() > MODEL_VOID_SHARE || run.alone != 0;
}

static void clock_report_at(enum ga_log_level level)
{
    char digest[MODEL_DIGEST_BYTES];
    model_constants_digest(digest);
    ga_log(level,
           "softgpu: timing: model %s: %" PRIu64 " items of %.3f ms on %u devices in %.3f ms; "
           "%" PRIu64 " were executed later than the model says, by %.3f ms (%.2f %%), one by "
           "%.3f ms; %" PRIu64 " found no room beside others and are timed as if alone%s",
           digest, run.items, (double)run.busy_ns / 1e6, run.devices,
           (double)(run.end_ns - run.begin_ns) / 1e6, run.late_items, (double)run.late_ns / 1e6,
           late_share() * 100, (double)run.latest_ns / 1e6, run.alone,
           run_is_void() ? ": this run is VOID, what its host measures are not the model's times"
                         : "");
}

static void clock_count_late(uint64_t late_ns)
{
    run.late_items++;
    run.late_ns += late_ns;
    run.latest_ns = late_ns > run.latest_ns ? late_ns : run.latest_ns;
}

static void clock_count(const struct sg_item *item, const struct model_period *period)
{
    const unsigned device = item->stream->context->device->ordinal;
    const uint64_t now = item->ran_ns;
    const uint64_t bit = UINT64_C(1) << device % 64;
    run.devices += (run.seen[device / 64] & bit) == 0;
    run.seen[device / 64] |= bit;
    uint64_t end = now > period->end_ns ? now : period->end_ns;
    run.begin_ns = run.items++ == 0 ? period->start_ns : run.begin_ns;
    run.busy_ns += period->end_ns - period->start_ns;
    run.end_ns = end > run.end_ns ? end : run.end_ns;
    if (now > period->end_ns || item->late_ns != 0) {
        clock_count_late(item->late_ns + (now > period->end_ns ? now - period->end_ns : 0));
    }
    /* Said now, because a process that is killed says nothing at its end. */
    bool news = !run.told || (run.told_late_ns != 0 && run.late_ns / 2 >= run.told_late_ns);
    if (news && run_is_void() && run.end_ns - run.begin_ns > MODEL_VOID_AFTER_NS) {
        run.told = true;
        run.told_late_ns = run.late_ns;
        clock_report_at(GA_LOG_WARN);
    }
}

static bool is_serial(const struct sg_device *device)
{
    return device->config.context_slice_ns == 0;
}

static uint64_t context_number(const struct sg_context *context)
{
    return (uint64_t)getpid() << 32 | (uint32_t)context->id;
}

static struct model_period place(struct sg_item *item, uint64_t ready)
{
    const struct sg_context *context = item->stream->context;
    uint64_t who = context_number(context);
    item->work_id = item->late_ns = 0;
    if (is_serial(context->device)) {
        return sg_ledger_begin(item, who, ready);
    }
    struct model_period period = sg_flow_begin(item, who, ready);
    run.alone += item->work_id == 0;
    return period;
}

/* An item of a graph has only the context of its stream. */
static bool of_graph(const struct sg_item *item)
{
    return item->finished != NULL;
}

/* Its times are known now. */
static void item_timed(struct sg_item *item, const struct model_period *period)
{
    item->end_ns = period->end_ns;
    sg_trace_item(item, period->start_ns, period->end_ns);
    if (!of_graph(item)) {
        sg_clock_advance(item->stream, period->end_ns);
    }
    clock_count(item, period);
}

static void due_insert(struct sg_item *item)
{
    struct ga_list *before = due.prev;
    while (before != &due &&
           ga_container(before, struct sg_item, in_engine)->end_ns > item->end_ns) {
        before = before->prev;
    }
    ga_list_append(before->next, &item->in_engine); /* directly after `before` */
    if (before == &due) {
        pthread_cond_signal(&changed);
    }
}

/* Whether an item that is due, and may have been moved, has ended; when it runs. */
static bool has_ended(struct sg_item *item, struct model_period *period)
{
    if (!is_serial(item->stream->context->device)) {
        return sg_flow_ended(item, period);
    }
    if (!sg_ledger_foresee(item, period)) {
        *period = (struct model_period){item->start_ns, item->end_ns};
    }
    bool ended = period->end_ns <= item->end_ns;
    if (ended) {
        sg_ledger_end(item);
    }
    return ended;
}

/* The first item is due: it ends, or other work has moved its end. */
static void first_end(struct sg_item *item)
{
    ga_list_remove(&item->in_engine);
    struct model_period period;
    if (item->work_id != 0 && !has_ended(item, &period)) {
        item->start_ns = period.start_ns;
        item->end_ns = period.end_ns;
        due_insert(item);
        return;
    }
    if (item->work_id != 0) {
        item_timed(item, &period);
    }
    sg_engine_end(item);
}

/* A process that had work on the device is gone: when the item runs now. */
static void foresee_again(struct sg_item *item)
{
    struct model_period period = {item->start_ns, item->end_ns};
    if (!is_serial(item->stream->context->device)) {
        sg_flow_foresee(item, &period);
    } else if (!sg_ledger_foresee(item, &period)) {
        uint64_t now = ga_clock_ns();
        period = place(item, item->start_ns < now ? item->start_ns : now);
    }
    item->start_ns = period.start_ns;
    item->end_ns = period.end_ns;
}

/* Whether the processes live that have work on the devices where items wait for their end. Work of
 * dead ones is taken out, and what others had placed behind it ends earlier. */
static void due_look(uint64_t now)
{
    struct ga_list items = due;
    looked_ns = now;
    items.next->prev = items.prev->next = &items;
    ga_list_init(&due);
    ga_list_each (at, following, &items) {
        struct sg_item *item = ga_container(at, struct sg_item, in_engine);
        struct sg_device *device = item->stream->context->device;
        if (item->work_id != 0 && device->looked_ns != now) {
            sg_node_lock();
            uint32_t departures = sg_node_work_look(device->node);
            sg_node_unlock();
            device->left = departures != device->departures;
            device->departures = departures;
            device->looked_ns = now;
        }
        if (item->work_id != 0 && device->left) {
            foresee_again(item);
        }
        ga_list_remove(at);
        due_insert(item);
    }
}

static void *clock_thread_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1UL); /* ns; by default the kernel adds 50 us to each wait */
    sg_lock();
    for (;;) {
        struct sg_item *item = first_due();
        uint64_t now = ga_clock_ns(), look_ns = looked_ns + LOOK_NS;
        if (item == NULL) {
            pthread_cond_wait(&changed, &sg_process.lock);
        } else if (item->end_ns <= now) {
            first_end(item);
        } else if (look_ns <= now) {
            due_look(now);
        } else {
            uint64_t until_ns = item->end_ns < look_ns ? item->end_ns : look_ns;
            (void)ga_cond_wait_until(&changed, &sg_process.lock, until_ns);
        }
    }
    return NULL;
}

static bool clock_thread_start(void)
{
    ga_cond_init(&changed);
    ga_list_init(&due);
    bool made = ga_thread_start(NULL, clock_thread_main, NULL) == GA_OK;
    if (!made) {
        ga_error("softgpu: cannot start the thread of the timing model: nothing takes time");
    }
    return made;
}

bool sg_clock_takes(struct sg_item *item)
{
    struct sg_stream *stream = item->stream;
    item->ran_ns = ga_clock_ns();
    if (!atomic_load(&started)) {
        atomic_store(&started, clock_thread_start());
    }
    if (item->engine == SG_ENGINE_HOST || !atomic_load(&started)) {
        item->end_ns = item->ran_ns; /* it took its own time */
        if (!of_graph(item)) {
            sg_clock_advance(stream, item->ran_ns);
        }
        return false;
    }
    uint64_t ready = of_graph(item) ? 0 : sg_clock_of(stream);
    ready = item->submitted_ns > ready ? item->submitted_ns : ready;
    struct model_period period = place(item, ready);
    item->start_ns = period.start_ns;
    item->end_ns = period.end_ns;
    if (item->work_id == 0) {
        item_timed(item, &period);
        if (item->end_ns <= item->ran_ns) {
            return false;
        }
    }
    due_insert(item);
    return true;
}

void sg_clock_make_context(const struct sg_device *device)
{
    if (sg_clock_runs(device)) {
        const struct timespec until = ga_clock_time(ga_clock_ns() + device->config.context_ns);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
        }
    }
}

void sg_clock_report(void)
{
    /* A thread that calls exit() with the lock held reports nothing. */
    if (atomic_load(&started) &&
        ga_mutex_lock_until(&sg_process.lock, ga_clock_ns() + GA_NS_PER_S) == 0) {
        if (run.items != 0) {
            clock_report_at(run_is_void() ? GA_LOG_WARN : GA_LOG_INFO);
        }
        sg_unlock();
    }
}
