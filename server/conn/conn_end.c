/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a connection whose process goes on: nothing of it stays.
 *
 * Note: the order matters. Streams wait for nobody any more before their work is waited for; the
 * card is told to forget memory before the connection closes; objects go before the completion
 * thread, which their work needs; memory is unpinned when nothing can reach it. */
#include <stdlib.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "server/app/kernel_output.h"
#include "server/conn/conn.h"
#include "server/objects/app_life.h"

/* ---- the submit thread's part */

/* The network card reaches memory of this process only as long as the connection is there. */
static void memory_unlend(struct server_conn *conn)
{
    const struct transport_one_sided *one_sided = conn->transport.ops->one_sided;
    if (one_sided == NULL) {
        return;
    }
    if (conn->out.lent.state != NULL) {
        one_sided->unshare(&conn->transport, &conn->out.lent);
    }
    if (conn->scratch_lent.state != NULL) {
        one_sided->unshare(&conn->transport, &conn->scratch_lent);
    }
    ga_list_each (at, next, &conn->staging.overflow.slots) {
        struct overflow_slot *slot = ga_container(at, struct overflow_slot, link);
        if (slot->lent.state != NULL) {
            one_sided->unshare(&conn->transport, &slot->lent);
        }
    }
}

static void jobs_drop(struct server_conn *conn)
{
    struct ga_list *lists[] = {&conn->jobs, &conn->ends};
    pthread_mutex_lock(&conn->job_lock);
    for (unsigned i = 0; i < 2; i++) {
        ga_list_each (at, next, lists[i]) {
            struct completion *base = ga_container(at, struct completion, link);
            ga_list_remove(&base->link);
            completer_entry_free(&conn->completer,
                                 ga_container(base, struct completer_entry, base));
        }
    }
    pthread_mutex_unlock(&conn->job_lock);
}

/* Gives back what the node lends to every application alike, whatever it has made. */
static void memory_give_back(struct server_conn *conn)
{
    if (conn->shared != NULL) {
        staging_give(&conn->staging, conn->shared);
        conn->shared = NULL;
    }
    shared_buffers_fini(&conn->shared_buffers, conn->app->driver);
    host_calls_fini(&conn->host_calls);
    staging_clear(&conn->staging);
}

bool conn_wind_up(struct server_conn *conn)
{
    (void)GA_FAILPOINT("backend: before the end of an application");
    app_end_begin(conn->app);
    send_queue_end(&conn->out);
    memory_unlend(conn);
    send_queue_close(&conn->out);
    conn_run_jobs(conn);
    if (!app_end(conn->app) || waiting_calls_settle(conn->app, &conn->waiting.all) != GA_OK) {
        return false;
    }
    (void)GA_FAILPOINT("backend: objects of an application freed");
    waiting_calls_stop(&conn->waiting);
    completer_stop(&conn->completer);
    jobs_drop(conn);
    memory_give_back(conn);
    output_detach(conn->app->host->output, &conn->app->output);
    (void)conn->app->driver->cuCtxSetCurrent(NULL);
    return true;
}

/* ---- what needs no driver */

void conn_unmake(struct server_conn *conn)
{
    quota_listen(conn->app->ledger->quota, NULL, NULL);
    conn->app->carrier = &carrier_none;
    conn->app->carried_by = NULL;
    completer_fini(&conn->completer);
    send_queue_fini(&conn->out);
    staging_fini(&conn->staging); /* conn_end may be called until here */
    bulk_fini(&conn->bulk);
    ga_pool_fini(&conn->frames);
    waiting_calls_fini(&conn->waiting);
    pthread_mutex_destroy(&conn->job_lock);
    if (conn->wake_fd >= 0) {
        close(conn->wake_fd);
    }
    free(conn->scratch);
    free(conn->notice);
    free(conn);
}

void conn_join(struct server_conn *conn)
{
    (void)pthread_join(conn->thread, NULL);
}

void conn_free(struct server_conn *conn)
{
    conn_join(conn);
    frame_reader_fini(&conn->reader);
    conn_unmake(conn);
}
