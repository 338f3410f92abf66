/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/credential_ends.h"

#include <stdlib.h>

#include "base/clock.h"

#define CHANGED_NS (5 * GA_NS_PER_S) /* not more often than that */
#define EVERY_NS   (600 * GA_NS_PER_S)

struct credential_ends_job {
    uv_work_t work;
    struct credential_ends *ends; /* NULL: nobody waits for it any more */
    const char *path;             /* of the store */
    int64_t now_s;
    size_t count;
    struct store_credential_end rows[CREDENTIAL_ENDS_MAX];
};

static void row_take(void *user, const struct store_credential_end *row)
{
    struct credential_ends_job *job = user;
    if (job->count < CREDENTIAL_ENDS_MAX) {
        job->rows[job->count++] = *row;
    }
}

static void ends_work(uv_work_t *work)
{
    struct credential_ends_job *job = work->data;
    struct store *store;
    char why[600];
    if (store_open_to_read(job->path, &store, why, sizeof why) != GA_OK) {
        return;
    }
    if (store_credential_ends(store, job->now_s, CREDENTIAL_ENDS_MAX, row_take, job) != GA_OK) {
        job->count = 0;
    }
    store_close(store);
}

static void ends_worked(uv_work_t *work, int status)
{
    struct credential_ends_job *job = work->data;
    struct credential_ends *ends = job->ends;
    if (ends != NULL) {
        ends->job = NULL;
        struct store_credential_end *rows =
            job->count != 0 && status == 0 ? calloc(job->count, sizeof *rows) : NULL;
        for (size_t i = 0; rows != NULL && i < job->count; i++) {
            rows[i] = job->rows[i];
        }
        free(ends->rows);
        ends->rows = rows;
        ends->count = rows != NULL ? job->count : 0;
    }
    free(job);
}

void credential_ends_ask(struct credential_ends *ends, uv_loop_t *loop,
                         const struct server_timers *timers, const char *path, uint64_t changes)
{
    uint64_t now = timers_now(timers);
    uint64_t wait_ns = ends->changes != changes ? CHANGED_NS : EVERY_NS;
    if (ends->job != NULL || (ends->asked_ns != 0 && now - ends->asked_ns < wait_ns)) {
        return;
    }
    struct credential_ends_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return; /* the next time */
    }
    ends->asked_ns = now;
    ends->changes = changes;
    job->ends = ends;
    job->path = path;
    job->now_s = timers_wall_s(timers);
    job->work.data = job;
    if (uv_queue_work(loop, &job->work, ends_work, ends_worked) == 0) {
        ends->job = job;
    } else {
        free(job);
    }
}

void credential_ends_fini(struct credential_ends *ends)
{
    if (ends->job != NULL) {
        ends->job->ends = NULL;
    }
    free(ends->rows);
    *ends = (struct credential_ends){.asked_ns = UINT64_MAX};
}
