/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the process around the library: first use, fork, exit.
 *
 * Nothing is torn down at exit: calls of the program's destructors may come after our own. */
#include "client/process/process.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "client/conn/conn.h"
#include "client/process/environment.h"
#include "client/process/trace.h"
#include "client/session/servers.h"
#include "client/session/session.h"

#define DESCRIPTORS_MAX 4096

atomic_bool client_dead;
atomic_bool client_exiting;

static atomic_int owned[DESCRIPTORS_MAX];
static atomic_uint owned_count;

void client_process_own(int fd)
{
    unsigned at = atomic_fetch_add(&owned_count, 1);
    if (at < DESCRIPTORS_MAX) {
        atomic_store(&owned[at], fd + 1);
    }
}

/* The connections belong to the parent. Only async-signal-safe things happen here. */
static void in_child(void)
{
    atomic_store(&client_dead, true);
    unsigned count = atomic_load(&owned_count);
    for (unsigned i = 0; i < count && i < DESCRIPTORS_MAX; i++) {
        int fd = atomic_load(&owned[i]) - 1;
        if (fd >= 0) {
            close(fd);
        }
    }
}

/* From here on unload and destroy calls do nothing: the end of the connections does it all. */
static void at_exit(void)
{
    if (atomic_load(&client_dead)) {
        return;
    }
    client_trace_summary();
    atomic_store(&client_exiting, true);
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        atomic_store(&conn->quiet, true);
    }
}

CUresult client_process_start(void)
{
    static bool once;
    if (!once) {
        once = true;
        client_environment_apply();
        (void)pthread_atfork(NULL, NULL, in_child);
        (void)atexit(at_exit);
    }
    return client_servers_connect();
}
