/* SPDX-License-Identifier: Apache-2.0 */
#include "client/conn/conn_list.h"

#include "client/conn/conn_internal.h"

#define CONNS_MAX 256

static struct client_conn *_Atomic conns[CONNS_MAX];
static atomic_uint conn_count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

struct client_conn *client_conn_at_index(unsigned index)
{
    return index < atomic_load(&conn_count) ? atomic_load(&conns[index]) : NULL;
}

void client_conn_add(struct client_conn *conn)
{
    pthread_mutex_lock(&adding);
    unsigned at = atomic_load(&conn_count);
    bool room = at < CONNS_MAX;
    if (room) {
        conn->facts.index = at;
        atomic_store(&conns[at], conn);
        atomic_store(&conn_count, at + 1);
    }
    pthread_mutex_unlock(&adding);
    conn->hooks->armed(); /* the service thread shall look at this connection */
    if (!room) {
        client_conn_lose(conn, "this program has too many connections already");
    }
}

struct client_conn *client_conn_of_process(const void *owner, uint64_t process)
{
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        if (conn->owner == owner && conn->process == process &&
            atomic_load(&conn->facts.dead) == 0) {
            return conn;
        }
    }
    return NULL;
}
