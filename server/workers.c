/* SPDX-License-Identifier: Apache-2.0 */
#include "server/workers.h"

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/thread.h"

enum ga_status workers_init(struct workers *workers)
{
    *workers = (struct workers){
        .done_fd = ga_descriptor_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
    if (workers->done_fd < 0) {
        return GA_NO_MEMORY;
    }
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->given_one, NULL);
    ga_list_init(&workers->given);
    ga_list_init(&workers->done);
    return GA_OK;
}

static void job_do(struct workers *workers, struct worker_job *job)
{
    job->run(job);
    pthread_mutex_lock(&workers->lock);
    ga_list_append(&workers->done, &job->link);
    pthread_mutex_unlock(&workers->lock);
    (void)!eventfd_write(workers->done_fd, 1);
}

static void *worker_run(void *argument)
{
    struct workers *workers = argument;
    (void)prctl(PR_SET_NAME, "gpuaasd-worker");
    pthread_mutex_lock(&workers->lock);
    while (!workers->ending || !ga_list_empty(&workers->given)) {
        if (ga_list_empty(&workers->given)) {
            (void)pthread_cond_wait(&workers->given_one, &workers->lock);
            continue;
        }
        struct worker_job *job = ga_container(workers->given.next, struct worker_job, link);
        ga_list_remove(&job->link);
        pthread_mutex_unlock(&workers->lock);
        job_do(workers, job);
        pthread_mutex_lock(&workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* False: no more are possible. */
static bool worker_start(struct workers *workers)
{
    unsigned number = workers->thread_count;
    if (number == WORKERS_MAX ||
        ga_thread_start(&workers->threads[number], worker_run, workers) != GA_OK) {
        return false;
    }
    workers->thread_count++;
    return true;
}

void workers_start(struct workers *workers)
{
    while (worker_start(workers)) {
    }
}

void workers_give(struct workers *workers, struct worker_job *job)
{
    workers->out++;
    if (workers->out > workers->thread_count) {
        (void)worker_start(workers);
    }
    if (workers->thread_count == 0) {
        job_do(workers, job);
        return;
    }
    pthread_mutex_lock(&workers->lock);
    ga_list_append(&workers->given, &job->link);
    pthread_cond_signal(&workers->given_one);
    pthread_mutex_unlock(&workers->lock);
}

struct worker_job *workers_take(struct workers *workers)
{
    struct worker_job *job = NULL;
    eventfd_t count;
    pthread_mutex_lock(&workers->lock);
    if (!ga_list_empty(&workers->done)) {
        job = ga_container(workers->done.next, struct worker_job, link);
        ga_list_remove(&job->link);
        workers->out--;
    }
    if (ga_list_empty(&workers->done)) {
        (void)!eventfd_read(workers->done_fd, &count);
    }
    pthread_mutex_unlock(&workers->lock);
    return job;
}

void workers_end(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->ending = true;
    pthread_cond_broadcast(&workers->given_one);
    pthread_mutex_unlock(&workers->lock);
    while (workers->thread_count != 0) {
        (void)pthread_join(workers->threads[--workers->thread_count], NULL);
    }
}

void workers_fini(struct workers *workers)
{
    pthread_cond_destroy(&workers->given_one);
    pthread_mutex_destroy(&workers->lock);
    close(workers->done_fd);
}
