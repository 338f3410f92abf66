/* SPDX-License-Identifier: Apache-2.0 */
/* A few threads that do pieces of work for a loop which must not stand still, such as steps of TLS
 * handshakes. The loop gives them jobs, watches `done_fd`, and takes back what is done. All
 * functions are for the loop's thread. */
#ifndef SERVER_WORKERS_H
#define SERVER_WORKERS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/status.h"

#define WORKERS_MAX 2u /* jobs at once; further cores are for clients that are served already */

/* A member of what the work is about, which must stay until the job has been taken back. */
struct worker_job {
    struct ga_list link;
    void (*run)(struct worker_job *job); /* in one of the threads */
};

struct workers {
    pthread_mutex_t lock; /* of the lists and `ending` */
    pthread_cond_t given_one;
    struct ga_list given, done;
    bool ending;
    int done_fd;  /* readable: a job is done */
    unsigned out; /* jobs that have been given and not been taken back */
    unsigned thread_count;
    pthread_t threads[WORKERS_MAX];
};

/* GA_NO_MEMORY: no memory or descriptors. */
GA_CHECKED enum ga_status workers_init(struct workers *workers);
/* Starts the threads now; otherwise they start with the first jobs. */
void workers_start(struct workers *workers);
/* Waits for the jobs under way. Those that are done can still be taken back, until workers_fini. */
void workers_end(struct workers *workers);
void workers_fini(struct workers *workers);

static inline bool workers_have_room(const struct workers *workers)
{
    return workers->out < WORKERS_MAX;
}
/* There must be room. Without any thread the job is done here and now. */
void workers_give(struct workers *workers, struct worker_job *job);
/* NULL: no further one is done. */
struct worker_job *workers_take(struct workers *workers);

#endif
