/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting calls: calls of the driver that may wait by themselves for work on a GPU
 * (server/driver/waits.def says which). The GPU may wait for a later call of the program, so the
 * submit thread makes none while there may be work: a thread of these makes it, and what is to be
 * done then is a job of the submit thread. Where nothing is under way the submit thread makes the
 * call itself: there is nothing to wait for.
 *
 * Note: it is not enough to wait first for the work that was there when the client called. The
 * driver also waits for what has been submitted since. */
#ifndef SERVER_CONN_WAITING_CALLS_H
#define SERVER_CONN_WAITING_CALLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/list.h"
#include "base/status.h"
#include "server/app/objects.h"

struct completer_entry;
struct cuda_driver;
struct server_app;
struct server_context;

/* More calls that wait at once wait for each other. */
#define WAITING_CALLS_THREADS 64u

/* A call, in the entry of the job that comes behind it. */
struct waiting_call {
    CUresult (*make)(const struct cuda_driver *driver, uint64_t object); /* NULL: there is none */
    uint64_t object;
    CUcontext in;                /* current meanwhile; NULL: none */
    struct waiting_count *count; /* of its context, besides; or NULL */
};

struct waiting_calls { /* of a connection */
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct ga_list queue; /* completer_entry.base.link */
    unsigned queued, started, idle;
    bool ended;
    pthread_t threads[WAITING_CALLS_THREADS];
    struct waiting_count all;
};

void waiting_calls_init(struct waiting_calls *calls);
/* Makes the call of the entry, a job, whose `rc` becomes its result if it is CUDA_SUCCESS; then the
 * job is run. Takes the entry. `context`: whose object it is, which does not end before; NULL: it
 * is no context's, and `in` of the call stands. Submit thread. */
void waiting_call_make(struct server_app *app, struct server_context *context,
                       struct completer_entry *entry);
/* Its job is about to run. Submit thread. */
void waiting_call_made(struct server_app *app, struct completer_entry *entry);
/* Waits until all calls that are counted have been made, and their jobs run, as conn_wait does. */
GA_CHECKED enum ga_status waiting_calls_settle(struct server_app *app, struct waiting_count *count);
/* Ends the threads, when no call is under way. */
void waiting_calls_stop(struct waiting_calls *calls);
void waiting_calls_fini(struct waiting_calls *calls);

#endif
