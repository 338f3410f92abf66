/* SPDX-License-Identifier: Apache-2.0 */
/* Returning cached device memory when another application runs out: programs that share devices
 * give back what they keep when one of them asks its server for it. */
#include "client/memory/reclaim.h"

#include <time.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "base/clock.h"
#include "base/thread.h"
#include "client/call/call.h"
#include "client/memory/device_free.h"
#include "client/memory/mempool.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

#define SLICE_MS 40u /* in the first step; in each one more it is so much longer */
#define STEPS    8u

/* ---- ours */

static void reclaim_give_back(struct client_conn *conn, bool wait)
{
    for (int i = 0; i < client_device_count; i++) {
        const struct client_session *session = atomic_load(&client_devices[i]->session);
        if (session != NULL && client_session_conn(session) == conn) {
            client_memory_trim_session(session, wait);
            (void)client_mempool_release_soon(i);
        }
    }
}

static struct client_session *reclaim_any_session(const struct client_conn *conn)
{
    struct client_session *session = NULL;
    for (int i = 0;
         i < client_device_count && (session == NULL || client_session_conn(session) != conn);
         i++) {
        session = atomic_load(&client_devices[i]->session);
    }
    return session != NULL && client_session_conn(session) == conn ? session : NULL;
}

/* Returns free memory at once, so that others can have it while this thread waits for the rest. */
static void *trim(void *argument)
{
    struct client_conn *conn = argument;
    struct client_session *session = reclaim_any_session(conn);
    struct client_call call;
    reclaim_give_back(conn, false);
    reclaim_give_back(conn, true);
    client_conn_trim_end(conn);
    CUresult rc = session != NULL
                      ? client_call_enter_session(&call, API_OP_ga_memory_trimmed, session)
                      : CUDA_ERROR_INVALID_CONTEXT;
    if (rc == CUDA_SUCCESS && client_call_begin(&call, 0) == CUDA_SUCCESS) {
        (void)client_call_post(&call);
    }
    return NULL;
}

void client_trim_begin(struct client_conn *conn)
{
    if (client_conn_trim_begin(conn) && ga_thread_start(NULL, trim, conn) != GA_OK) {
        client_conn_trim_end(conn);
    }
}

/* ---- the others' */

static uint32_t reclaim_ask(const struct client_session *session, bool start)
{
    struct client_call call;
    const struct ga_memory_reclaim_args args = {.start = start};
    struct ga_memory_reclaim_results results = {0};
    CUresult rc = client_call_enter_session(&call, API_OP_ga_memory_reclaim,
                                            (struct client_session *)(uintptr_t)session);
    if (rc == CUDA_SUCCESS && client_call_lacking(&call)) {
        rc = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_memory_reclaim(&call, &args, true, &results);
    }
    return rc == CUDA_SUCCESS ? results.pending : 0;
}

bool client_trim_others(const struct client_session *session, unsigned step)
{
    static _Thread_local bool pending; /* at the end of the last step */
    if (step >= STEPS || (step != 0 && !pending)) {
        return false;
    }
    uint64_t until = ga_clock_ns() + (uint64_t)(step + 1) * SLICE_MS * GA_NS_PER_MS;
    pending = reclaim_ask(session, step == 0) != 0;
    bool again = pending || step != 0;
    while (pending && ga_clock_ns() < until) {
        const struct timespec time = {.tv_nsec = GA_NS_PER_MS};
        (void)nanosleep(&time, NULL);
        pending = reclaim_ask(session, false) != 0;
    }
    return again;
}
