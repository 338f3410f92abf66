/* SPDX-License-Identifier: Apache-2.0 */
/* The service thread: sends buffered calls after a moment, reads answers that no thread waits for,
 * keeps side connections alive and notices their end. It does nothing that a calling thread waits
 * for. Other threads of the library exist only for programs with host functions or values in
 * pinned memory (host_function.c), and for a moment while memory is reclaimed (reclaim.c). */
#include "client/session/service.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/thread.h"
#include "client/conn/conn.h"
#include "client/conn/conn_list.h"
#include "client/process/process.h"
#include "client/session/server_devices.h"

#define POLLED_MIN 64u
#define FAR        UINT64_MAX

static int wake_fd = -1;   /* a timer */
static atomic_bool asleep; /* for longer than the flush delay */

/* Wakes the thread when the flush is due. Waking it now would take the processor from the calling
 * thread, and it would only go to sleep again. */
void client_service_wake(void)
{
    if (atomic_exchange(&asleep, false)) {
        const struct itimerspec due = {.it_value.tv_nsec = CONN_FLUSH_NS};
        (void)timerfd_settime(wake_fd, 0, &due, NULL);
    }
}

static uint64_t service_sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The program's sessions there go on: the connections to backend processes end with the processes,
 * and say so. */
static void server_lost(struct client_server *server, unsigned connected)
{
    if (atomic_load(&server->connected) != connected) {
        return; /* that was the connection before */
    }
    atomic_store(&server->lost, true);
    ga_debug("the control connection to %s has ended", server->address);
}

/* The owner of a descriptor. */
struct watched_of {
    struct client_conn *conn; /* NULL: see server */
    struct client_server *server;
    unsigned connected; /* the server's, when its descriptor was read */
};

/* The descriptors to poll; the arrays only grow. */
struct watched {
    struct pollfd *at;
    struct watched_of *of;
    nfds_t count, room;
};

static bool watched_grow(struct watched *w)
{
    nfds_t room = w->room != 0 ? 2 * w->room : POLLED_MIN;
    struct pollfd *at = realloc(w->at, room * sizeof *at);
    w->at = at != NULL ? at : w->at;
    struct watched_of *of = realloc(w->of, room * sizeof *of);
    w->of = of != NULL ? of : w->of;
    w->room = at != NULL && of != NULL ? room : w->room;
    return w->count < w->room;
}

/* Adds a descriptor. If there is no memory, it is served when something else wakes the thread. */
static void service_watch(struct watched *w, int fd, short events, struct watched_of of)
{
    if (w->count < w->room || watched_grow(w)) {
        w->at[w->count] = (struct pollfd){.fd = fd, .events = events};
        w->of[w->count++] = of;
    }
}

static void service_watch_all(struct watched *w)
{
    w->count = 0;
    service_watch(w, wake_fd, POLLIN, (struct watched_of){0});
    for (struct client_server *at = client_servers; at != NULL; at = at->next) {
        unsigned connected = atomic_load(&at->connected); /* first: a later `fd` does no harm */
        if (!atomic_load(&at->lost)) {
            service_watch(w, atomic_load(&at->watched_fd), POLLRDHUP,
                          (struct watched_of){.server = at, .connected = connected});
        }
    }
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        struct pollfd at[CONN_POLLS_MAX];
        unsigned count = client_conn_polls(conn, at);
        for (unsigned n = 0; n < count; n++) {
            service_watch(w, at[n].fd, at[n].events, (struct watched_of){.conn = conn});
        }
    }
}

static void handle_events(const struct watched *w)
{
    if (w->count != 0 && w->at[0].revents != 0) {
        uint64_t count;
        ssize_t got = read(wake_fd, &count, sizeof count);
        (void)got;
    }
    for (nfds_t i = 1; i < w->count; i++) {
        if (w->at[i].revents == 0) {
            continue;
        }
        struct client_conn *conn = w->of[i].conn;
        if (conn == NULL) {
            server_lost(w->of[i].server, w->of[i].connected);
        } else {
            client_conn_polled(conn, w->at[i].fd);
        }
    }
}

static uint64_t serve_all(uint64_t now)
{
    uint64_t next = FAR;
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        if (client_conn_dead(conn) == 0) {
            next = service_sooner(next, client_conn_serve(conn, now));
        }
    }
    return next;
}

static void *service_run(void *unused)
{
    (void)unused;
    static struct watched watched;
    prctl(PR_SET_NAME, "gpuaas-service");
    prctl(PR_SET_TIMERSLACK, 1);
    for (;;) {
        uint64_t now = ga_clock_ns();
        uint64_t next = serve_all(now);
        if (next > now + CONN_FLUSH_NS) {
            /* A thread that fills a buffer from here on wakes this one; earlier bytes are seen
             * below. */
            atomic_store(&asleep, true);
            next = service_sooner(next, serve_all(ga_clock_ns()));
        }
        service_watch_all(&watched);
        now = ga_clock_ns();
        uint64_t sleep_ns = next > now ? next - now : 0;
        struct timespec timeout = {.tv_sec = (time_t)(sleep_ns / GA_NS_PER_S),
                                   .tv_nsec = (long)(sleep_ns % GA_NS_PER_S)};
        int ready = ppoll(watched.at, watched.count, next != FAR ? &timeout : NULL, NULL);
        atomic_store(&asleep, false);
        if (ready > 0) {
            handle_events(&watched);
        }
    }
    return NULL;
}

/* Under the lock. */
static bool service_start(void)
{
    static bool started;
    if (!started && wake_fd < 0) {
        wake_fd =
            ga_descriptor_above_stdio(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        if (wake_fd < 0) {
            return false;
        }
        client_process_own(wake_fd);
    }
    started = started || ga_thread_start(NULL, service_run, NULL) == GA_OK;
    return started;
}

bool client_service_start(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool started = service_start();
    pthread_mutex_unlock(&lock);
    return started;
}
