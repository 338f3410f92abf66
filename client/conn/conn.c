/* SPDX-License-Identifier: Apache-2.0 */
/* Life and death of a connection. Its descriptors stay open after its end (a thread may still be
 * inside poll); only the child after a fork closes them. */
#include "client/conn/conn_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/log.h"

enum ga_status client_conn_create(const struct client_conn_start *start, struct client_conn **out)
{
    struct client_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL ||
        client_conn_init(conn, start->data, start->data_reader, start->hooks) != GA_OK) {
        free(conn);
        return GA_NO_MEMORY;
    }
    struct transport_conn side = start->side;
    struct frame_reader side_reader = start->side_reader;
    transport_side_init(&conn->side, &side, &side_reader, start->dead_after_ms);
    conn->owner = start->owner;
    conn->process = start->process;
    conn->facts.lacks = start->lacking != NULL;
    if (start->lacking != NULL) {
        conn->facts.lacking = *start->lacking;
    }
    conn->compression.mode = start->compression;
    snprintf(conn->name, sizeof conn->name, "%s", start->name);
    snprintf(conn->address, sizeof conn->address, "%s", start->address);
    *out = conn;
    return GA_OK;
}

enum ga_status client_conn_init(struct client_conn *conn, struct transport_conn data,
                                struct frame_reader reader, const struct client_conn_hooks *hooks)
{
    conn->out = aligned_alloc(64, CONN_BUFFER);
    if (conn->out == NULL) {
        return GA_NO_MEMORY;
    }
    conn->hooks = hooks;
    conn->data = data;
    conn->reader = reader;
    uint64_t eighth_ns = transport_round_trip_ns(&data) / 8;
    conn->flush_ns = eighth_ns > CONN_FLUSH_NS ? eighth_ns : CONN_FLUSH_NS;
    ga_list_init(&conn->waiters);
    pthread_mutex_init(&conn->end_lock, NULL);
    pthread_mutex_init(&conn->mirrors_lock, NULL);
    pthread_mutex_init(&conn->send_lock, NULL);
    pthread_mutex_init(&conn->read_lock, NULL);
    pthread_cond_init(&conn->room, NULL);
    return GA_OK;
}

/* Logs the cause before any thread can see that the connection is dead, so that a program which
 * ends at its first error has logged it. */
static void die(struct client_conn *conn, int result, bool lost, const char *why)
{
    pthread_mutex_lock(&conn->end_lock);
    bool first = atomic_load(&conn->facts.dead) == 0;
    if (first && !lost) {
        ga_warn("CUDA error %d on %s: %s", result, conn->name, why);
    } else if (first && !atomic_load(&conn->quiet)) {
        ga_error("the connection to %s is lost: %s; every further CUDA call answers error %d",
                 conn->name, why, result);
    }
    if (first) {
        atomic_store(&conn->facts.dead, result);
    }
    pthread_mutex_unlock(&conn->end_lock);
    if (first) {
        (void)shutdown(conn->data.fd, SHUT_RDWR); /* wakes the thread that reads or polls */
        for (unsigned i = 0; i < client_conn_bulks(conn); i++) {
            (void)shutdown(conn->bulks[i].transport.fd, SHUT_RDWR);
        }
        client_conn_read(conn); /* completes everything outstanding, unless the reader does */
    }
}

void client_conn_lose(struct client_conn *conn, const char *why)
{
    die(conn, CONN_LOST, true, why);
}

void client_conn_condemn(struct client_conn *conn, int result, const char *why)
{
    die(conn, result, false, why);
}
