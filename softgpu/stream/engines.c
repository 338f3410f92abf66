/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of a device, and the threads that run the ready items. An engine is a queue and a
 * number of items that may run at once; any thread of the device serves any engine, so a copy after
 * a kernel needs no hand-over. Threads are started when there is work that no idle one can take;
 * they live as long as the process. */
#include "softgpu/stream/engines.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "softgpu/node/time_slices.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/clock.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/streams.h"
#include "softgpu/stream/trace.h"

/* The device in which this thread looks for work when its item is done. */
static _Thread_local struct sg_device *about_to_look;

static struct sg_engine *item_engine(const struct sg_item *item)
{
    struct sg_device *device = item->stream->context->device;
    bool shared = item->engine == GPU_D2H && device->config.copy_engines == 1;
    return &device->engines[shared ? GPU_H2D : item->engine];
}

static unsigned engine_runnable(const struct sg_engine *engine)
{
    unsigned busy = engine->running + engine->timed;
    unsigned room = engine->lanes > busy ? engine->lanes - busy : 0;
    return engine->queued < room ? engine->queued : room;
}

static void engine_thread_start(struct sg_device *device);

/* Wakes or starts threads for all items that may run. */
static void device_kick(struct sg_device *device)
{
    unsigned runnable = 0, coming = about_to_look == device;
    for (unsigned i = 0; i < SG_ENGINES; i++) {
        runnable += engine_runnable(&device->engines[i]);
    }
    while (runnable > coming + device->called) {
        if (device->idle > device->called) {
            device->called++;
            atomic_fetch_add(&device->calls, 1);
            if (device->called > device->looking) {
                pthread_cond_signal(&device->work);
            }
        } else if (device->threads < device->threads_max) {
            engine_thread_start(device);
        } else {
            break;
        }
    }
}

/* Called with the lock, which it releases while the item runs. */
static void item_run(struct sg_engine *engine, struct sg_item *item)
{
    item->state = SG_ITEM_RUNNING;
    engine->running++;
    bool turn = engine->turn == NULL || sg_turn_begin(engine->turn);
    bool traced = sg_trace_runs();
    sg_unlock();
    if (!turn) {
        sg_turn_wait(engine->turn, &sg_process.stop);
    }
    uint64_t start_ns = traced ? ga_clock_ns() : 0;
    CUresult rc = item->run(item);
    sg_lock();
    if (--engine->running == 0 && engine->turn != NULL) {
        sg_turn_end(engine->turn);
    }
    bool timed = rc == CUDA_SUCCESS && sg_clock_runs(item->stream->context->device);
    if (traced && (!timed || item->engine == SG_ENGINE_HOST)) {
        sg_trace_item(item, start_ns, ga_clock_ns());
    }
    if (timed && sg_clock_takes(item)) {
        engine->timed++;
    } else {
        sg_item_finish(item, rc);
    }
}

/* Takes the next item that may run from its queue; NULL: none. */
static struct sg_item *device_next(struct sg_device *device)
{
    for (unsigned i = SG_ENGINES; i-- > 0;) { /* copies first: they are short */
        struct sg_engine *engine = &device->engines[i];
        if (engine_runnable(engine) != 0) {
            struct sg_item *item = ga_container(engine->queue.next, struct sg_item, in_engine);
            sg_engine_remove(item);
            return item;
        }
    }
    return NULL;
}

/* Waits until the thread is called. With the lock, which it releases meanwhile. */
static void device_wait(struct sg_device *device)
{
    device->idle++;
    device->looking++;
    unsigned calls = atomic_load(&device->calls);
    sg_unlock();
    (void)sg_spin_while(&device->spin, &device->calls, calls);
    sg_lock();
    device->looking--;
    while (device->called == 0) {
        pthread_cond_wait(&device->work, &sg_process.lock);
    }
    device->idle--;
}

static void *engine_thread_main(void *argument)
{
    struct sg_device *device = argument;
    sg_lock();
    for (;;) {
        if (device->called == 0) {
            device_wait(device);
        }
        device->called--;
        struct sg_item *item;
        while ((item = device_next(device)) != NULL) {
            about_to_look = NULL;
            struct sg_engine *engine = item_engine(item);
            engine->running++; /* counted now, so that device_kick leaves this item out */
            device_kick(device);
            engine->running--;
            about_to_look = device;
            item_run(engine, item);
        }
        about_to_look = NULL;
    }
    return NULL;
}

static void engine_thread_start(struct sg_device *device)
{
    if (ga_thread_start(NULL, engine_thread_main, device) == GA_OK) {
        device->threads++;
        device->called++; /* this thread looks for work at once */
    } else {
        device->threads_max = device->threads;
        if (device->threads == 0) {
            ga_error("softgpu: cannot start a thread for the device's work");
            sg_process_condemn(CUDA_ERROR_OPERATING_SYSTEM);
        }
    }
}

void sg_engine_push(struct sg_item *item)
{
    struct sg_engine *engine = item_engine(item);
    struct ga_list *before = engine->queue.prev;
    while (before != &engine->queue &&
           ga_container(before, struct sg_item, in_engine)->priority > item->priority) {
        before = before->prev;
    }
    item->state = SG_ITEM_QUEUED;
    ga_list_append(before->next, &item->in_engine); /* directly after `before` */
    engine->queued++;
    device_kick(item->stream->context->device);
}

void sg_engine_remove(struct sg_item *item)
{
    ga_list_remove(&item->in_engine);
    item_engine(item)->queued--;
}

void sg_engine_end(struct sg_item *item)
{
    struct sg_device *device = item->stream->context->device;
    item_engine(item)->timed--;
    sg_item_finish(item, CUDA_SUCCESS);
    device_kick(device);
}

bool sg_engine_run_here(struct sg_item *item)
{
    struct sg_engine *engine = item_engine(item);
    struct sg_device *device = item->stream->context->device;
    if (engine->running + engine->timed >= engine->lanes || engine->queued != 0) {
        return false;
    }
    item_run(engine, item);
    device_kick(device);
    return true;
}
