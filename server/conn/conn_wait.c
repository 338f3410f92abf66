/* SPDX-License-Identifier: Apache-2.0 */
/* How the submit thread sleeps: it is woken for a job, for a turn on a GPU, and for the end. Where
 * it waits for room it is not, and looks now and then. */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "server/conn/conn.h"
#include "server/gate/gate.h"
#include "server/meter/meter.h"

#define END_LOOK_NS  (20 * GA_NS_PER_MS) /* the end looks so often whether it is out of time */
#define GATE_LOOK_NS (10 * GA_NS_PER_MS) /* who cannot hear a bell asks its gates so often */

void conn_flush(struct server_conn *conn)
{
    enum ga_status status = send_queue_flush(&conn->out);
    if (status == GA_AGAIN) {
        completer_wake(&conn->completer);
    } else if (status == GA_LOST) {
        atomic_store(&conn->ended, true);
    }
}

void conn_take_turns(struct server_conn *conn)
{
    atomic_fetch_or(&conn->job_count, CONN_TAKES_TURNS);
    (void)!eventfd_write(conn->wake_fd, 1);
}

void conn_add_job(struct server_conn *conn, struct completer_entry *entry)
{
    pthread_mutex_lock(&conn->job_lock);
    ga_list_append(entry->between_frames ? &conn->ends : &conn->jobs, &entry->base.link);
    atomic_fetch_add(entry->between_frames ? &conn->end_count : &conn->job_count, 1);
    pthread_mutex_unlock(&conn->job_lock);
    (void)!eventfd_write(conn->wake_fd, 1);
}

static void job_run(struct server_conn *conn, struct ga_list *jobs, atomic_uint *count)
{
    pthread_mutex_lock(&conn->job_lock);
    struct completion *base = ga_container(jobs->next, struct completion, link);
    struct completer_entry *entry = ga_container(base, struct completer_entry, base);
    ga_list_remove(&base->link);
    atomic_fetch_sub(count, 1);
    pthread_mutex_unlock(&conn->job_lock);
    if (entry->waits.make != NULL) {
        waiting_call_made(conn->app, entry);
    }
    entry->job(conn->app, entry);
    completer_entry_free(&conn->completer, entry);
}

void conn_run_jobs(struct server_conn *conn)
{
    unsigned count;
    while ((count = atomic_load(&conn->job_count)) != 0) {
        if ((count & CONN_TAKES_TURNS) != 0) {
            atomic_fetch_and(&conn->job_count, ~CONN_TAKES_TURNS);
            meter_start(&conn->app->meter);
            gates_begin(conn->app);
            continue;
        }
        job_run(conn, &conn->jobs, &conn->job_count);
    }
}

void conn_run_ends(struct server_conn *conn)
{
    while (atomic_load(&conn->end_count) != 0) {
        job_run(conn, &conn->ends, &conn->end_count);
    }
}

/* How long it may sleep now; then it looks what is done on the GPUs. */
static uint64_t conn_sleep_ns(struct server_conn *conn)
{
    uint64_t gate_ns = conn->app->gated ? gate_rest(conn->app) : UINT64_MAX;
    if (gate_ns != UINT64_MAX) {
        return gate_ns;
    }
    int sleep_ms = meter_sleep_ms(conn->app);
    return sleep_ms < 0 ? UINT64_MAX : (uint64_t)sleep_ms * GA_NS_PER_MS;
}

/* Drains the bell. Each waiter reads its own grant again. */
static void bell_take(const struct gate_bell *bell)
{
    char rung[64];
    while (recv(bell->fd, rung, sizeof rung, MSG_DONTWAIT) == (ssize_t)sizeof rung) {
    }
    if (bell->rang != NULL) {
        bell->rang(bell->user);
    }
}

static void conn_poll_for(struct server_conn *conn, struct transport_conn *from, short wanted,
                          uint64_t most_ns)
{
    struct pollfd fds[2 + TRANSPORT_POLL_MAX] = {
        {.fd = conn->wake_fd, .events = POLLIN},
        {.fd = conn->app->bell != NULL ? conn->app->bell->fd : -1, .events = POLLIN}};
    unsigned count = 0;
    if (from != NULL) {
        count = from->ops->poll_prepare(from, wanted, fds + 2);
        if (count == 0) {
            return;
        }
    }
    int ready;
    bool over;
    do {
        uint64_t ns = conn_sleep_ns(conn);
        over = most_ns <= ns;
        ns = over ? most_ns : ns;
        const struct timespec time = {.tv_sec = (time_t)(ns / GA_NS_PER_S),
                                      .tv_nsec = (long)(ns % GA_NS_PER_S)};
        ready = ppoll(fds, 2 + count, ns != UINT64_MAX ? &time : NULL, NULL);
        if (ready == 0) {
            meter_look(conn->app);
            most_ns -= most_ns != UINT64_MAX ? ns : 0;
        }
    } while (ready == 0 && !over);
    if (ready > 0) {
        meter_idle(conn->app); /* who is woken again and again looks, too */
    }
    if (ready > 0 && (fds[0].revents & POLLIN) != 0) {
        eventfd_t count;
        (void)!eventfd_read(conn->wake_fd, &count);
    }
    if (ready > 0 && (fds[1].revents & POLLIN) != 0) {
        bell_take(conn->app->bell);
    }
}

void conn_poll(struct server_conn *conn, struct transport_conn *from, short wanted)
{
    conn_poll_for(conn, from, wanted, UINT64_MAX);
}

void conn_pause(struct server_conn *conn, uint64_t most_ns)
{
    conn_run_jobs(conn);
    conn_flush(conn);
    conn_poll_for(conn, NULL, 0, most_ns);
}

/* How long it may wait for a condition, which no bell ends. */
static uint64_t conn_part_ns(struct server_conn *conn, uint64_t most_ns)
{
    uint64_t ns = conn_sleep_ns(conn), part_ns = conn->app->gated ? GATE_LOOK_NS : GA_NS_PER_S;
    part_ns = ns < part_ns ? ns : part_ns;
    return part_ns < most_ns ? part_ns : most_ns;
}

enum ga_status conn_wait_room(struct server_conn *conn)
{
    GA_TRY(completer_wait_room(&conn->completer));
    if (!send_queue_is_full(&conn->out, conn->queue_bytes)) {
        return GA_OK;
    }
    conn_flush(conn);
    enum ga_status status = GA_TIMEOUT;
    while (status == GA_TIMEOUT) {
        uint64_t part_ns = conn_part_ns(conn, UINT64_MAX);
        status = send_queue_wait_room(&conn->out, conn->queue_bytes, part_ns);
        meter_look(conn->app);
    }
    return status;
}

bool conn_wait_moves(struct server_conn *conn, struct staging_moves seen, uint64_t most_ns)
{
    bool moved = false;
    while (!moved && most_ns != 0) {
        uint64_t part_ns = conn_part_ns(conn, most_ns);
        moved = staging_wait(&conn->staging, seen, part_ns);
        most_ns -= part_ns;
        meter_look(conn->app);
    }
    return moved;
}

bool conn_gives_up(const struct server_conn *conn)
{
    return atomic_load(&conn->ended) && conn->app->end_by_ns == 0;
}

enum ga_status conn_wait(struct server_conn *conn, const bool *done)
{
    completer_hand_over(&conn->completer);
    for (;;) {
        conn_run_jobs(conn);
        if (*done) {
            return GA_OK;
        }
        if (conn_gives_up(conn)) {
            return GA_LOST;
        }
        if (conn->app->end_by_ns != 0 && ga_clock_ns() > conn->app->end_by_ns) {
            return GA_TIMEOUT;
        }
        conn_flush(conn);
        conn_poll_for(conn, NULL, 0, conn->app->end_by_ns != 0 ? END_LOOK_NS : UINT64_MAX);
    }
}
