/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for streams, events and contexts: each waiter has a condition of its own and is woken
 * only when its wait is over. */
#include "softgpu/stream/waits.h"

#include "base/wait.h"
#include "softgpu/memory/peer_access.h"
#include "softgpu/process/print.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/shared_events.h"

struct sg_wait {
    struct ga_list link;
    bool (*passed)(const void *argument);
    const void *argument;
    pthread_cond_t changed;
};

static void waits_begin(struct sg_wait *wait, bool (*passed)(const void *), const void *argument)
{
    *wait = (struct sg_wait){.passed = passed, .argument = argument};
    ga_cond_init(&wait->changed);
    ga_list_append(&sg_process.waits, &wait->link);
}

static void waits_end(struct sg_wait *wait)
{
    ga_list_remove(&wait->link);
    pthread_cond_destroy(&wait->changed);
}

void sg_waits_wake(void)
{
    atomic_fetch_add(&sg_process.passes, 1);
    bool condemned = atomic_load(&sg_process.condemned) != 0;
    ga_list_each (at, following, &sg_process.waits) {
        struct sg_wait *wait = ga_container(at, struct sg_wait, link);
        if (condemned || wait->passed(wait->argument)) {
            pthread_cond_signal(&wait->changed);
        }
    }
}

#define LOOKS                                                                                      \
    4 /* each ends when something has come, and takes the lock to see whether that was it */

static void wait_looking(bool (*passed)(const void *argument), const void *argument)
{
    static struct sg_spin spin;
    bool look = true;
    for (int i = 0; i < LOOKS && look; i++) {
        unsigned passes = atomic_load(&sg_process.passes);
        sg_unlock();
        look = sg_spin_while(&spin, &sg_process.passes, passes);
        sg_lock();
        look = look && !passed(argument) && atomic_load(&sg_process.condemned) == 0;
    }
}

CUresult sg_wait_for(bool (*passed)(const void *argument), const void *argument)
{
    if (passed(argument) || atomic_load(&sg_process.condemned) != 0) {
        return (CUresult)atomic_load(&sg_process.condemned);
    }
    wait_looking(passed, argument);
    struct sg_wait wait;
    waits_begin(&wait, passed, argument);
    while (!passed(argument) && atomic_load(&sg_process.condemned) == 0) {
        pthread_cond_wait(&wait.changed, &sg_process.lock);
    }
    waits_end(&wait);
    return (CUresult)atomic_load(&sg_process.condemned);
}

/* Waits one second more; false when it is over. */
static bool wait_second(struct sg_wait *wait)
{
    return ga_cond_wait_until(&wait->changed, &sg_process.lock, ga_clock_ns() + GA_NS_PER_S);
}

bool sg_wait_quiet(bool (*passed)(const void *argument), const void *argument)
{
    struct sg_wait wait;
    bool told = false, quiet = passed(argument);
    waits_begin(&wait, passed, argument);
    while (!quiet) {
        if (atomic_load(&sg_process.exiting) == 0) {
            pthread_cond_wait(&wait.changed, &sg_process.lock);
        } else if (!wait_second(&wait)) {
            if (told) {
                break;
            }
            atomic_store(&sg_process.stop, 1);
            told = true;
        }
        quiet = passed(argument);
    }
    waits_end(&wait);
    return quiet;
}

struct stream_point {
    const struct sg_stream *stream;
    uint64_t sequence;
};

static bool stream_point_passed(const void *argument)
{
    const struct stream_point *point = argument;
    return sg_stream_passed(point->stream, point->sequence);
}

CUresult sg_stream_wait(struct sg_stream *stream)
{
    struct stream_point point = {.stream = stream, .sequence = sg_process.sequence};
    sg_stream_hold(stream);
    CUresult rc = sg_wait_for(stream_point_passed, &point);
    sg_print_due(stream->context->print);
    sg_stream_drop(stream);
    return rc;
}

static bool mark_done(const void *argument)
{
    return sg_mark_passed((struct sg_mark *)(uintptr_t)argument);
}

CUresult sg_mark_wait(struct sg_mark *mark)
{
    sg_mark_hold(mark);
    CUresult rc = sg_wait_for(mark_done, mark);
    sg_mark_drop(mark);
    return rc;
}

struct context_point {
    struct sg_context *context;
    uint64_t sequence;
};

static bool context_point_passed(const void *argument)
{
    const struct context_point *point = argument;
    ga_list_each (at, following, &point->context->streams) {
        if (sg_stream_older(ga_container(at, struct sg_stream, in_context), point->sequence + 1)) {
            return false;
        }
    }
    return true;
}

/* Whether all work is done that may use the context's memory. */
static bool users_passed(const void *argument)
{
    const struct context_point *point = argument;
    ga_list_each (at, following, &sg_process.active) {
        const struct sg_stream *stream = ga_container(at, struct sg_stream, in_active);
        if (sg_peer_uses(stream->context, point->context) &&
            sg_stream_older(stream, point->sequence + 1)) {
            return false;
        }
    }
    return true;
}

static CUresult point_wait(struct sg_context *context, bool (*passed)(const void *point))
{
    struct context_point point = {.context = context, .sequence = sg_process.sequence};
    sg_context_hold(context);
    CUresult rc = sg_wait_for(passed, &point);
    sg_print_due(context->print);
    sg_context_drop(context);
    return rc;
}

CUresult sg_context_wait_users(struct sg_context *context)
{
    return point_wait(context, users_passed);
}

CUresult sg_context_wait(struct sg_context *context)
{
    return point_wait(context, context_point_passed);
}

bool sg_context_quiet(struct sg_context *context)
{
    struct context_point point = {.context = context, .sequence = sg_process.sequence};
    sg_context_hold(context);
    bool quiet = sg_wait_quiet(context_point_passed, &point);
    sg_print_due(context->print);
    sg_context_drop(context);
    return quiet;
}

static bool all_passed(const void *argument)
{
    const uint64_t *sequence = argument;
    ga_list_each (at, following, &sg_process.active) {
        if (sg_stream_older(ga_container(at, struct sg_stream, in_active), *sequence + 1)) {
            return false;
        }
    }
    return true;
}

CUresult sg_process_wait(void)
{
    uint64_t sequence = sg_process.sequence;
    return sg_wait_for(all_passed, &sequence);
}

bool sg_process_quiet(void)
{
    uint64_t sequence = sg_process.sequence;
    return sg_wait_quiet(all_passed, &sequence);
}
