/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the work of contexts: those that are given up, and those of several contexts of which
 * one ends. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/conn/conn.h"
#include "server/objects/contexts.h"
#include "server/tests/fake_ledger.h"

/* ---- a driver whose events belong to the context that is current, which is done or not */

static _Atomic bool is_done[2];
static _Thread_local uintptr_t current;
static _Atomic int events;

static CUresult fake_set(CUcontext context)
{
    current = (uintptr_t)context;
    return CUDA_SUCCESS;
}

static CUresult fake_create(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)current;
    atomic_fetch_add(&events, 1);
    return CUDA_SUCCESS;
}

static CUresult fake_record(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return CUDA_SUCCESS;
}

static CUresult fake_query(CUevent event)
{
    return atomic_load(&is_done[(uintptr_t)event - 1]) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult fake_destroy(CUevent event)
{
    (void)event;
    atomic_fetch_sub(&events, 1);
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {.cuCtxSetCurrent = fake_set,
                                          .cuEventCreate = fake_create,
                                          .cuEventRecord = fake_record,
                                          .cuEventQuery = fake_query,
                                          .cuEventDestroy_v2 = fake_destroy};

/* ---- an application with two contexts */

static const struct server_host host = {.client = "192.0.2.7:1"};
static struct transport_conn nowhere;
static struct server_conn *conn;
static struct server_context *contexts[2];

static void start(void)
{
    conn = calloc(1, sizeof *conn);
    conn->app = calloc(1, sizeof *conn->app);
    conn->app->carrier = &conn_carrier;
    conn->app->carried_by = conn;
    conn->app->driver = &driver;
    conn->app->host = &host;
    conn->app->ledger = &fake_ledger;
    objects_init(&conn->app->objects, &fake_ledger);
    send_queue_init(&conn->out, &nowhere, &conn->staging);
    pthread_mutex_init(&conn->job_lock, NULL);
    ga_list_init(&conn->jobs);
    conn->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    completer_init(&conn->completer, conn);
    cr_assert_eq(completer_start(&conn->completer), GA_OK);
    for (uintptr_t i = 0; i < 2; i++) {
        contexts[i] = calloc(1, sizeof *contexts[i]);
        contexts[i]->real = (CUcontext)(i + 1);
        ga_list_init(&contexts[i]->streams);
        ga_list_init(&contexts[i]->free_events);
        ga_list_append(&conn->app->objects.context_list, &contexts[i]->link);
    }
}

/* As the end of a context does. */
static void context_free(unsigned i)
{
    ga_list_each (at, next, &contexts[i]->free_events) {
        struct event_ref *ref = ga_container(at, struct event_ref, link);
        ga_list_remove(&ref->link);
        (void)driver.cuEventDestroy_v2(ref->real);
        free(ref);
    }
    ga_list_remove(&contexts[i]->link);
    free(contexts[i]);
    contexts[i] = NULL;
}

static void stop(void)
{
    completer_stop(&conn->completer);
    for (unsigned i = 0; i < 2; i++) {
        if (contexts[i] != NULL) {
            context_free(i);
        }
    }
    cr_assert_eq(atomic_load(&events), 0, "no event is left, nor destroyed twice");
    completer_fini(&conn->completer);
    send_queue_fini(&conn->out);
    close(conn->wake_fd);
    free(conn->app);
    free(conn);
}

TestSuite(waits, .init = start, .fini = stop, .timeout = 30);

/* Runs jobs where the frames of earlier calls were on the stack. */
static __attribute__((noinline)) size_t jobs_run_over(size_t bytes)
{
    volatile unsigned char stack[16384];
    size_t changed = 0;
    memset((void *)(uintptr_t)stack, 0, bytes);
    conn_run_jobs(conn);
    for (size_t i = 0; i < bytes; i++) {
        changed += stack[i] != 0;
    }
    return changed;
}

static void jobs_await(void)
{
    while (atomic_load(&conn->job_count) == 0) {
        usleep(1000);
    }
}

Test(waits, one_that_is_given_up_writes_nowhere)
{
    (void)fake_set(contexts[0]->real);
    atomic_store(&conn->ended, true);
    cr_assert_eq(context_quiesce(conn->app, contexts[0]), GA_LOST);
    atomic_store(&is_done[0], true);
    completer_wake(&conn->completer);
    jobs_await();
    cr_assert_eq(jobs_run_over(16384), 0, "its job has written into the frame of another function");
}

Test(waits, one_that_is_out_of_time_writes_nowhere)
{
    (void)fake_set(contexts[0]->real);
    atomic_store(&conn->ended, true);
    conn->app->end_by_ns = 1;
    cr_assert_eq(context_quiesce(conn->app, contexts[0]), GA_TIMEOUT);
    atomic_store(&is_done[0], true);
    completer_wake(&conn->completer);
    jobs_await();
    cr_assert_eq(jobs_run_over(16384), 0, "its job has written into the frame of another function");
}

static unsigned told;
static CUresult told_rc;

static void tell(struct server_app *of, struct completer_entry *entry)
{
    (void)of;
    told++;
    told_rc = entry->rc;
}

/* An entry that waits for both contexts. */
static void wait_for_both(void)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    entry->job = tell;
    cr_assert_eq(context_mark_users(conn->app, contexts[0], true, &entry->marks), CUDA_SUCCESS);
    completer_add(&conn->completer, entry);
}

/* `ending` ends, whose work is done, while the other one works. */
static void one_ends(unsigned ending)
{
    unsigned other = 1 - ending;
    for (unsigned i = 0; i < 10; i++) {
        wait_for_both();
    }
    atomic_store(&is_done[ending], true);
    cr_assert_eq(context_abandon(conn->app, contexts[ending]), CUDA_SUCCESS);
    context_free(ending);
    usleep(20000); /* the thread looks at what is left */
    cr_assert_eq(told, 0);
    atomic_store(&is_done[other], true);
    completer_wake(&conn->completer);
    while (told != 10) {
        jobs_await();
        conn_run_jobs(conn);
    }
    cr_assert_eq(told_rc, CUDA_SUCCESS);
}

Test(waits, the_first_of_two_contexts_ends)
{
    one_ends(0);
}

Test(waits, the_second_of_two_contexts_ends)
{
    one_ends(1);
}

Test(waits, a_context_that_ends_with_work_is_told)
{
    struct completer_entry *entry = completer_entry_make(&conn->completer, COMPLETER_JOB, 0, 0);
    entry->job = tell;
    (void)fake_set(contexts[0]->real);
    cr_assert_eq(context_mark(conn->app, contexts[0], &entry->marks), CUDA_SUCCESS);
    completer_add(&conn->completer, entry);
    cr_assert_eq(context_abandon(conn->app, contexts[0]), CUDA_SUCCESS);
    cr_assert_eq(told, 1);
    cr_assert_eq(told_rc, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}
