/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs are done by other threads, and come back. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "server/workers.h"

#define JOBS 200

struct job {
    struct worker_job job;
    pthread_t thread; /* that has done it */
    unsigned done;
};

static void job_run(struct worker_job *job)
{
    struct job *at = ga_container(job, struct job, job);
    at->thread = pthread_self();
    at->done++;
    usleep(200);
}

Test(workers, each_job_is_done_once_elsewhere_and_comes_back, .timeout = 60)
{
    static struct job jobs[JOBS];
    struct workers workers;
    cr_assert_eq(workers_init(&workers), GA_OK);
    unsigned given = 0, taken = 0;
    while (taken < JOBS) {
        while (given < JOBS && workers_have_room(&workers)) {
            jobs[given].job.run = job_run;
            workers_give(&workers, &jobs[given++].job);
        }
        cr_assert_leq(given - taken, WORKERS_MAX);
        struct pollfd done = {.fd = workers.done_fd, .events = POLLIN};
        cr_assert_eq(poll(&done, 1, 20000), 1);
        while (workers_take(&workers) != NULL) {
            taken++;
        }
    }
    for (unsigned i = 0; i < JOBS; i++) {
        cr_expect_eq(jobs[i].done, 1);
        cr_expect(!pthread_equal(jobs[i].thread, pthread_self()));
    }
    workers_end(&workers);
    cr_expect_null(workers_take(&workers));
    workers_fini(&workers);
}

Test(workers, the_end_waits_for_what_is_under_way, .timeout = 60)
{
    struct job last = {.job.run = job_run};
    struct workers workers;
    cr_assert_eq(workers_init(&workers), GA_OK);
    workers_give(&workers, &last.job);
    workers_end(&workers);
    cr_expect_eq(last.done, 1);
    cr_expect_eq(workers_take(&workers), &last.job);
    cr_expect_null(workers_take(&workers));
    workers_fini(&workers);
}
