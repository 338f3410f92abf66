/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that writes rows of usage into the store, with a connection of its own: gpuaasd's loop
 * never waits for a disk. All functions are for the loop's thread. */
#ifndef SERVER_USAGE_LEDGER_WRITER_H
#define SERVER_USAGE_LEDGER_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "store/store.h"

struct ledger_writer {
    const char *path; /* of the store */
    struct store *store;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t given;
    bool given_any; /* under the lock: there is something to do, */
    const struct store_usage *rows;
    size_t count;
    int64_t before; /* usage of days before this is forgotten; 0: none */
    bool more;      /* of it is left; the thread's until `done` */
    bool ending, started;
    uv_async_t *done; /* tells the loop, which may still have it when the writer is no more */
    void (*written)(struct ledger_writer *writer, enum ga_status status, const char *why);
    enum ga_status status; /* of the last rows; the thread's until `done` */
    char why[600];
    bool busy; /* of the loop: rows have been given and not been reported */
};

/* `path` and `writer` stay where they are. `written` is called by the loop for each
 * ledger_writer_give. */
GA_CHECKED enum ga_status ledger_writer_start(
    struct ledger_writer *writer, uv_loop_t *loop, const char *path,
    void (*written)(struct ledger_writer *writer, enum ga_status status, const char *why));
/* Writes the rows, which stay the caller's and as they are until `written`, and forgets some of the
 * usage of days before that of `before` (0: none). Not while it is busy. */
void ledger_writer_give(struct ledger_writer *writer, const struct store_usage *rows, size_t count,
                        int64_t before);
/* Waits until it is not busy and ends it; `written` is called if it was. */
void ledger_writer_stop(struct ledger_writer *writer);
/* Writes the rows here and now, when it has been stopped. */
GA_CHECKED enum ga_status ledger_writer_last(struct ledger_writer *writer,
                                             const struct store_usage *rows, size_t count,
                                             char *why, size_t why_size);

#endif
