/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is torn down at exit: calls of the program's destructors may come after our own. */
#include "client/session/start.h"

#include <stdlib.h>

#include "client/conn/conn.h"
#include "client/conn/conn_list.h"
#include "client/process/process.h"
#include "client/session/servers.h"
#include "client/session/trace_summary.h"

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
        client_conn_hush(conn);
    }
}

CUresult client_start(void)
{
    static bool once;
    if (!once) {
        once = true;
        client_process_begin();
        (void)atexit(at_exit);
    }
    return client_servers_connect();
}
