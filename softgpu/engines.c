/* The engines of a device: threads that run ready items. Threads are started when there is work
 * that no idle one can take, up to the engine's lanes; they live as long as the process. */
#include "softgpu/queue.h"

#include <pthread.h>
#include <signal.h>

#include "base/log.h"
#include "softgpu/process.h"

static struct sg_engine *item_engine(const struct sg_item *item)
{
    return &item->stream->context->device->engines[item->engine];
}

/* With the lock; releases it while the item runs. */
static void item_run(struct sg_engine *engine, struct sg_item *item)
{
    item->state = SG_ITEM_RUNNING;
    engine->running++;
    sg_unlock();
    CUresult result = item->run(item);
    sg_lock();
    engine->running--;
    sg_item_finish(item, result);
    if (!ga_list_empty(&engine->queue)) {
        pthread_cond_signal(&engine->work);
    }
}

static void *engine_main(void *argument)
{
    struct sg_engine *engine = argument;
    sg_lock();
    for (;;) {
        while (ga_list_empty(&engine->queue) || engine->running >= engine->lanes) {
            engine->idle++;
            pthread_cond_wait(&engine->work, &sg_process.lock);
            engine->idle--;
        }
        struct sg_item *item = ga_container(engine->queue.next, struct sg_item, in_engine);
        sg_engine_remove(item);
        item_run(engine, item);
    }
    return NULL;
}

/* Signals are the application's business: its handlers never run on our threads. */
static void engine_start_thread(struct sg_engine *engine)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, engine_main, engine) == 0) {
        pthread_detach(thread);
        engine->threads++;
    } else if (engine->threads == 0) {
        ga_error("softgpu: cannot start a thread for the device's work");
        sg_process_condemn(CUDA_ERROR_OPERATING_SYSTEM);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sg_engine_push(struct sg_item *item)
{
    struct sg_engine *engine = item_engine(item);
    struct ga_list *before = engine->queue.prev;
    while (before != &engine->queue &&
           ga_container(before, struct sg_item, in_engine)->stream->priority >
               item->stream->priority) {
        before = before->prev;
    }
    item->state = SG_ITEM_QUEUED;
    ga_list_append(before->next, &item->in_engine); /* right behind `before` */
    engine->queued++;
    if (engine->queued > engine->idle && engine->threads < engine->lanes) {
        engine_start_thread(engine);
    } else {
        pthread_cond_signal(&engine->work);
    }
}

void sg_engine_remove(struct sg_item *item)
{
    ga_list_remove(&item->in_engine);
    item_engine(item)->queued--;
}

bool sg_engine_run_here(struct sg_item *item)
{
    struct sg_engine *engine = item_engine(item);
    if (engine->running >= engine->lanes || !ga_list_empty(&engine->queue)) {
        return false;
    }
    item_run(engine, item);
    return true;
}
