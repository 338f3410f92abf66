/* SPDX-License-Identifier: Apache-2.0 */
/* A waiting connection costs nothing: the descriptors of all are in one epoll set. admission.c
 * reads their greetings. */
#include "server/backend/pending_conns.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/backend/admission.h"
#include "server/backend/backend.h"

#define ACCEPT_PAUSE_MS 200
#define ACCEPT_BATCH    32u /* connections taken per turn, of each listener */
#define EVENT_BATCH     64
#define RELIEVED        8u  /* connections that go at once when descriptors have run out */
#define OVERDUE_BATCH   64u /* connections whose time is up that go in a turn */
#define PENDING_MIN     16u

/* The rest of the descriptors is for what the application does. */
static unsigned pending_most(const struct backend *backend)
{
    struct rlimit limit;
    unsigned most = backend->setup.conf.pending_connections;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < most) {
        most = (unsigned)(limit.rlim_cur / 2);
    }
    return most > PENDING_MIN ? most : PENDING_MIN;
}

enum ga_status pending_conns_init(struct backend *backend)
{
    struct pending_conns *pending = &backend->pending;
    ga_list_init(&pending->dead);
    pending->epoll_fd = ga_descriptor_above_stdio(epoll_create1(EPOLL_CLOEXEC));
    if (pending->epoll_fd < 0) {
        return GA_NO_MEMORY;
    }
    enum ga_status status = workers_init(&pending->workers);
    if (status == GA_OK) {
        status = pending_table_init(&pending->table, pending_most(backend));
        if (status != GA_OK) {
            workers_fini(&pending->workers);
        }
    }
    if (status != GA_OK) {
        close(pending->epoll_fd);
    }
    return status;
}

static void pending_told(struct backend *backend)
{
    atomic_store_explicit(&backend->figures->pending, backend->pending.table.count,
                          memory_order_relaxed);
}

/* ---- waiting */

void pending_conns_unwatch(struct backend *backend, struct pending_conn *conn)
{
    for (unsigned i = 0; i < conn->watched_count; i++) {
        (void)epoll_ctl(backend->pending.epoll_fd, EPOLL_CTL_DEL, conn->watched[i].fd, NULL);
    }
    conn->watched_count = 0;
}

static bool watched_are(const struct pending_conn *conn, const struct pollfd *fds, unsigned count)
{
    bool same = conn->watched_count == count;
    for (unsigned i = 0; same && i < count; i++) {
        same = conn->watched[i].fd == fds[i].fd && conn->watched[i].events == fds[i].events;
    }
    return same;
}

/* Waits until it may have said something. GA_NO_MEMORY. */
static enum ga_status pending_watch(struct backend *backend, struct pending_conn *conn)
{
    struct pollfd fds[TRANSPORT_POLL_MAX];
    unsigned count = conn->conn.ops->poll_prepare(&conn->conn, POLLIN, fds);
    conn->again = count == 0;
    backend->pending.again = backend->pending.again || conn->again;
    if (watched_are(conn, fds, count)) {
        return GA_OK;
    }
    pending_conns_unwatch(backend, conn);
    for (unsigned i = 0; i < count; i++) {
        struct epoll_event event = {.events = (uint32_t)(uint16_t)fds[i].events,
                                    .data.ptr = conn}; /* the bits are poll's */
        if (epoll_ctl(backend->pending.epoll_fd, EPOLL_CTL_ADD, fds[i].fd, &event) != 0) {
            return GA_NO_MEMORY;
        }
        conn->watched[conn->watched_count++] = fds[i];
    }
    return GA_OK;
}

/* ---- ends */

/* Takes it out; its memory stays until the end of the turn, because events may name it. */
static void pending_leave(struct backend *backend, struct pending_conn *conn)
{
    if (!conn->closed) {
        conn->closed = true;
        pending_conns_unwatch(backend, conn);
        pending_table_remove(&backend->pending.table, &conn->entry);
        ga_list_append(&backend->pending.dead, &conn->dead);
        pending_told(backend);
    }
}

/* One that has been closed or taken over already stays as it is. */
static void pending_close(struct backend *backend, struct pending_conn *conn)
{
    if (conn->closed) {
        return;
    }
    pending_leave(backend, conn);
    if (!conn->stepping) {
        conn->conn.ops->close(&conn->conn);
        frame_reader_fini(&conn->reader);
    }
}

static void pending_bury(struct backend *backend)
{
    ga_list_each (at, next, &backend->pending.dead) {
        struct pending_conn *conn = ga_container(at, struct pending_conn, dead);
        if (!conn->stepping) {
            ga_list_remove(&conn->dead);
            free(conn);
        }
    }
}

static void pending_warn(const struct pending_conn *conn, const char *what)
{
    char client[TRANSPORT_PEER_BYTES];
    transport_peer(&conn->conn, client);
    ga_warn_of(client, "a connection has not said who it is%s", what);
}

static struct pending_conn *pending_of(struct pending_entry *entry)
{
    return ga_container(entry, struct pending_conn, entry);
}

static bool pending_relieve(struct backend *backend)
{
    struct pending_entry *victim;
    unsigned gone = 0;
    while (gone < RELIEVED && (victim = pending_table_victim(&backend->pending.table)) != NULL) {
        pending_warn(pending_of(victim), ", and descriptors have run out: dropped");
        pending_close(backend, pending_of(victim));
        gone++;
    }
    return gone != 0;
}

/* ---- beginnings */

bool pending_conns_accepts(const struct backend *backend)
{
    return ga_clock_ns() >= backend->pending.accept_at_ns;
}

/* One that can be closed like any other. NULL: no memory or descriptors. */
static struct pending_conn *pending_make(struct backend *backend, const struct transport_conn *conn,
                                         bool tls)
{
    struct pending_conn *made = calloc(1, sizeof *made);
    if (made == NULL || GA_FAILPOINT("backend: accepted")) {
        free(made);
        return NULL;
    }
    made->conn = *conn;
    made->tls = tls;
    ga_list_init(&made->dead);
    if (pending_watch(backend, made) != GA_OK) {
        pending_conns_unwatch(backend, made);
        free(made);
        return NULL;
    }
    return made;
}

enum ga_status pending_conns_add(struct backend *backend, const struct transport_conn *conn,
                                 bool tls)
{
    struct pending_table *table = &backend->pending.table;
    struct transport_conn taken = *conn;
    uint8_t source[TRANSPORT_SOURCE_BYTES];
    transport_source(conn, source);
    struct pending_conn *made = pending_make(backend, conn, tls);
    if (made == NULL) {
        taken.ops->close(&taken);
        return GA_NO_MEMORY;
    }
    if (pending_table_add(table, &made->entry, source, ga_clock_ns()) != GA_OK) {
        pending_close(backend, made);
        return GA_NO_MEMORY;
    }
    if (pending_table_is_over(table)) {
        struct pending_conn *victim = pending_of(pending_table_victim(table));
        pending_warn(victim, ", and another one needs its place: dropped");
        pending_close(backend, victim);
    }
    pending_told(backend);
    return GA_OK;
}

void pending_conns_accept(struct backend *backend, struct transport_listener *listener, bool tls)
{
    struct pending_conns *pending = &backend->pending;
    enum ga_status status = GA_OK;
    for (unsigned i = 0; status == GA_OK && i < ACCEPT_BATCH; i++) {
        struct transport_conn conn;
        status = listener->ops->accept(listener, &conn);
        if (status == GA_OK) {
            status = pending_conns_add(backend, &conn, tls);
        }
    }
    if (status == GA_AGAIN) {
        pending->accept_at_ns = 0;
    } else if (status != GA_OK) {
        if (pending->accept_at_ns == 0) { /* told once, not five times a second */
            ga_warn("cannot accept connections for now: no descriptors or memory left");
        }
        uint64_t pause_ns = pending_relieve(backend) ? 0 : ACCEPT_PAUSE_MS * GA_NS_PER_MS;
        pending->accept_at_ns = ga_clock_ns() + pause_ns;
    }
}

/* ---- turns */

static void pending_judge(struct backend *backend, struct pending_conn *conn,
                          enum ga_status received)
{
    enum ga_status status = admission_hear(backend, conn, received);
    if (status == GA_AGAIN) {
        status = pending_watch(backend, conn) == GA_OK ? GA_AGAIN : GA_NO_MEMORY;
    }
    if (status == GA_OK) {
        pending_leave(backend, conn); /* taken over */
    } else if (status != GA_AGAIN) {
        pending_close(backend, conn);
    }
}

static void pending_step_run(struct worker_job *job)
{
    struct pending_conn *conn = ga_container(job, struct pending_conn, job);
    conn->step_status = frame_fill(&conn->reader, &conn->conn);
}

static void pending_steps_give(struct backend *backend)
{
    struct pending_conns *pending = &backend->pending;
    while (workers_have_room(&pending->workers)) {
        struct pending_entry *entry = pending_table_next_step(&pending->table, false);
        if (entry == NULL) {
            return;
        }
        struct pending_conn *conn = pending_of(entry);
        conn->stepping = true;
        conn->job.run = pending_step_run;
        workers_give(&pending->workers, &conn->job);
    }
}

static void pending_steps_take(struct backend *backend)
{
    struct worker_job *job;
    while ((job = workers_take(&backend->pending.workers)) != NULL) {
        struct pending_conn *conn = ga_container(job, struct pending_conn, job);
        conn->stepping = false;
        if (conn->closed) {
            conn->conn.ops->close(&conn->conn);
            frame_reader_fini(&conn->reader);
        } else {
            pending_judge(backend, conn, conn->step_status);
        }
    }
}

static void pending_turn(struct backend *backend, struct pending_conn *conn)
{
    if (conn->closed || conn->stepping) {
        return;
    }
    pending_entry_heard(&conn->entry);
    if (conn->reader.buffer == NULL &&
        frame_reader_init(&conn->reader, PENDING_BUFFER_BYTES) != GA_OK) {
        pending_close(backend, conn);
    } else if (conn->tls) {
        pending_conns_unwatch(backend, conn);
        conn->entry.begun = transport_is_begun(&conn->conn);
        pending_table_want_step(&backend->pending.table, &conn->entry);
    } else {
        pending_judge(backend, conn, frame_fill(&conn->reader, &conn->conn));
    }
}

/* Those that need not wait. */
static void pending_turn_again(struct backend *backend)
{
    if (!backend->pending.again) {
        return;
    }
    backend->pending.again = false;
    ga_list_each (at, next, &backend->pending.table.entries) {
        struct pending_conn *conn = pending_of(ga_container(at, struct pending_entry, of_all));
        if (conn->again) {
            conn->again = false;
            pending_turn(backend, conn);
        }
    }
}

static void pending_turn_overdue(struct backend *backend)
{
    uint64_t limit_ns = backend->setup.conf.handshake_timeout_s * GA_NS_PER_S,
             now_ns = ga_clock_ns();
    for (unsigned i = 0; i < OVERDUE_BATCH; i++) {
        struct pending_entry *oldest = pending_table_oldest(&backend->pending.table);
        if (oldest == NULL || now_ns - oldest->since_ns <= limit_ns) {
            break;
        }
        pending_warn(pending_of(oldest), " in time");
        pending_close(backend, pending_of(oldest));
    }
}

bool pending_conns_poll(const struct backend *backend, struct pollfd fds[PENDING_CONNS_POLLS])
{
    fds[0] = (struct pollfd){.fd = backend->pending.epoll_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = backend->pending.workers.done_fd, .events = POLLIN};
    return !backend->pending.again;
}

void pending_conns_turn(struct backend *backend)
{
    struct epoll_event events[EVENT_BATCH];
    if (backend->pending.table.count != 0) {
        pending_turn_again(backend);
        int count = epoll_wait(backend->pending.epoll_fd, events, EVENT_BATCH, 0);
        for (int i = 0; i < count; i++) {
            pending_turn(backend, events[i].data.ptr);
        }
        pending_turn_overdue(backend);
    }
    pending_steps_take(backend);
    pending_steps_give(backend);
    pending_bury(backend);
}

void pending_conns_end(struct backend *backend)
{
    struct pending_entry *entry;
    while ((entry = pending_table_oldest(&backend->pending.table)) != NULL) {
        pending_close(backend, pending_of(entry));
    }
    workers_end(&backend->pending.workers);
    pending_steps_take(backend);
    pending_bury(backend);
    pending_table_fini(&backend->pending.table);
    workers_fini(&backend->pending.workers);
    close(backend->pending.epoll_fd);
}
