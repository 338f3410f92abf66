/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/ledger_writer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/failpoint.h"
#include "base/thread.h"

/* `why` is empty, or says what is wrong, also where the status is GA_OK: then it will not be better
 * next time. */
static enum ga_status rows_write(struct ledger_writer *writer, const struct store_usage *rows,
                                 size_t count, char *why, size_t why_size)
{
    why[0] = 0;
    if (GA_FAILPOINT("gpuaasd: before usage is written")) {
        snprintf(why, why_size, "a test wants it so");
        return GA_NO_MEMORY;
    }
    enum ga_status status = GA_OK;
    if (writer->store == NULL) {
        GA_TRY(store_open_again(writer->path, &writer->store, why, why_size));
        status = store_set_async(writer->store);
    }
    if (status == GA_OK) {
        status = store_usage_write_known(writer->store, rows, count, why, why_size);
    }
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(writer->store));
    } else {
        status = store_sync(writer->path, why, why_size); /* without the lock for changes */
    }
    if (status == GA_LOST) {
        store_close(writer->store);
        writer->store = NULL;
    }
    (void)GA_FAILPOINT("gpuaasd: usage written");
    return status;
}

static enum ga_status old_forget(struct ledger_writer *writer, char *why, size_t why_size)
{
    enum ga_status status = store_usage_forget(writer->store, writer->before, &writer->more);
    if (status != GA_OK) {
        snprintf(why, why_size, "%s", store_why(writer->store));
    }
    if (status == GA_LOST) {
        store_close(writer->store);
        writer->store = NULL;
    }
    return status;
}

static void *writer_run(void *argument)
{
    struct ledger_writer *writer = argument;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        while (!writer->given_any && !writer->ending) {
            pthread_cond_wait(&writer->given, &writer->lock);
        }
        if (!writer->given_any) {
            break;
        }
        pthread_mutex_unlock(&writer->lock);
        writer->status =
            rows_write(writer, writer->rows, writer->count, writer->why, sizeof writer->why);
        if (writer->status == GA_OK && writer->before != 0) {
            writer->status = old_forget(writer, writer->why, sizeof writer->why);
        }
        pthread_mutex_lock(&writer->lock);
        writer->given_any = false;
        (void)uv_async_send(writer->done);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* May be called once for several, or for none. */
static void writer_done(uv_async_t *done)
{
    struct ledger_writer *writer = done->data;
    pthread_mutex_lock(&writer->lock);
    bool over = writer->busy && !writer->given_any;
    pthread_mutex_unlock(&writer->lock);
    if (over) {
        writer->busy = false;
        writer->written(writer, writer->status, writer->why);
    }
}

static void done_closed(uv_handle_t *done)
{
    free(done);
}

enum ga_status ledger_writer_start(struct ledger_writer *writer, uv_loop_t *loop, const char *path,
                                   void (*written)(struct ledger_writer *writer,
                                                   enum ga_status status, const char *why))
{
    *writer = (struct ledger_writer){.path = path, .written = written};
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->given, NULL);
    writer->done = calloc(1, sizeof *writer->done);
    if (writer->done == NULL || uv_async_init(loop, writer->done, writer_done) != 0) {
        free(writer->done);
        return GA_NO_MEMORY;
    }
    writer->done->data = writer;
    if (ga_thread_start(&writer->thread, writer_run, writer) != GA_OK) {
        uv_close((uv_handle_t *)writer->done, done_closed);
        return GA_NO_MEMORY;
    }
    writer->started = true;
    return GA_OK;
}

void ledger_writer_give(struct ledger_writer *writer, const struct store_usage *rows, size_t count,
                        int64_t before)
{
    writer->busy = true;
    pthread_mutex_lock(&writer->lock);
    writer->given_any = true;
    writer->rows = rows;
    writer->before = before;
    writer->more = false;
    writer->count = count;
    pthread_cond_signal(&writer->given);
    pthread_mutex_unlock(&writer->lock);
}

void ledger_writer_stop(struct ledger_writer *writer)
{
    if (!writer->started) {
        return;
    }
    pthread_mutex_lock(&writer->lock);
    writer->ending = true;
    pthread_cond_signal(&writer->given);
    pthread_mutex_unlock(&writer->lock);
    (void)pthread_join(writer->thread, NULL);
    writer->started = false;
    writer_done(writer->done);
    uv_close((uv_handle_t *)writer->done, done_closed);
}

enum ga_status ledger_writer_last(struct ledger_writer *writer, const struct store_usage *rows,
                                  size_t count, char *why, size_t why_size)
{
    enum ga_status status = count != 0 ? rows_write(writer, rows, count, why, why_size) : GA_OK;
    if (writer->store != NULL) {
        store_close(writer->store);
        writer->store = NULL;
    }
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->given);
    return status;
}
