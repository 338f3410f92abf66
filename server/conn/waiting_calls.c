/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that make waiting calls: as many as have been under way at once. */
#include "server/conn/waiting_calls.h"

#include "base/log.h"
#include "base/thread.h"
#include "server/app/current_context.h"
#include "server/conn/conn.h"
#include "server/objects/contexts.h"

void waiting_calls_init(struct waiting_calls *calls)
{
    pthread_mutex_init(&calls->lock, NULL);
    pthread_cond_init(&calls->news, NULL);
    ga_list_init(&calls->queue);
}

void waiting_calls_fini(struct waiting_calls *calls)
{
    pthread_mutex_destroy(&calls->lock);
    pthread_cond_destroy(&calls->news);
}

static void call_make(struct server_app *app, struct completer_entry *entry)
{
    const struct waiting_call *call = &entry->waits;
    if (call->in != NULL) {
        (void)app->driver->cuCtxSetCurrent(call->in);
    }
    CUresult rc = call->make(app->driver, call->object);
    entry->rc = entry->rc == CUDA_SUCCESS ? rc : entry->rc;
}

/* ---- the threads */

static void *waiting_calls_run(void *argument)
{
    struct server_app *app = argument;
    struct waiting_calls *calls = &conn_of(app)->waiting;
    ga_log_set_thread_client(app->host->client);
    pthread_mutex_lock(&calls->lock);
    for (;;) {
        while (ga_list_empty(&calls->queue) && !calls->ended) {
            calls->idle++;
            pthread_cond_wait(&calls->news, &calls->lock);
            calls->idle--;
        }
        if (ga_list_empty(&calls->queue)) {
            break;
        }
        struct completion *base = ga_container(calls->queue.next, struct completion, link);
        struct completer_entry *entry = ga_container(base, struct completer_entry, base);
        ga_list_remove(&base->link);
        calls->queued--;
        pthread_mutex_unlock(&calls->lock);
        call_make(app, entry);
        (void)app->driver->cuCtxSetCurrent(NULL); /* it may end before the next call */
        conn_add_job(conn_of(app), entry);
        pthread_mutex_lock(&calls->lock);
    }
    pthread_mutex_unlock(&calls->lock);
    return NULL;
}

/* Whether there is a thread for one more call, or will be. With the lock. */
static bool thread_for_call(struct server_app *app)
{
    struct waiting_calls *calls = &conn_of(app)->waiting;
    if (calls->queued < calls->idle || calls->started == WAITING_CALLS_THREADS) {
        return true;
    }
    if (ga_thread_start(&calls->threads[calls->started], waiting_calls_run, app) != GA_OK) {
        return calls->started != 0;
    }
    calls->started++;
    return true;
}

static bool call_queue(struct server_app *app, struct completer_entry *entry)
{
    struct waiting_calls *calls = &conn_of(app)->waiting;
    pthread_mutex_lock(&calls->lock);
    bool taken = thread_for_call(app);
    if (taken) {
        ga_list_append(&calls->queue, &entry->base.link);
        calls->queued++;
        pthread_cond_signal(&calls->news);
    }
    pthread_mutex_unlock(&calls->lock);
    return taken;
}

/* ---- the submit thread's side */

void waiting_call_make(struct server_app *app, struct server_context *context,
                       struct completer_entry *entry)
{
    struct waiting_call *call = &entry->waits;
    if (context != NULL) {
        call->in = context->real;
        call->count = &context->waiting;
        context->waiting.under_way++;
    }
    conn_of(app)->waiting.all.under_way++;
    bool idle = !app->host->shares_process && contexts_are_idle(app);
    if (!idle && call_queue(app, entry)) {
        return;
    }
    if (!idle) {
        ga_warn("no thread can be started for a call that may wait: other calls wait with it");
        conn_flush(conn_of(app));
    }
    call_make(app, entry); /* there is nothing to wait for */
    context_apply(app, app->current);
    conn_add_job(conn_of(app), entry);
}

static void count_down(struct waiting_count *count)
{
    count->none = --count->under_way == 0;
}

void waiting_call_made(struct server_app *app, struct completer_entry *entry)
{
    count_down(&conn_of(app)->waiting.all);
    if (entry->waits.count != NULL) {
        count_down(entry->waits.count);
    }
}

enum ga_status waiting_calls_settle(struct server_app *app, struct waiting_count *count)
{
    count->none = count->under_way == 0;
    return conn_wait(conn_of(app), &count->none);
}

void waiting_calls_stop(struct waiting_calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    calls->ended = true;
    pthread_cond_broadcast(&calls->news);
    pthread_mutex_unlock(&calls->lock);
    for (unsigned i = 0; i < calls->started; i++) {
        (void)pthread_join(calls->threads[i], NULL);
    }
}
