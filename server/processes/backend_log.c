/* SPDX-License-Identifier: Apache-2.0 */
#include "server/processes/backend_log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"

#define WINDOW_MS    100
#define WINDOW_BYTES 65536u        /* that are read in it: what a pipe holds */
#define LEFT_BYTES   (1024 * 1024) /* at the end: the largest pipe that a process can make */

/* Factors of these where the operator has asked for more lines (log_level = debug), and for
 * thousands a second (record_phases). */
#define TIMES_DEBUG  16
#define TIMES_PHASES 1024

/* False: there is no more. */
static bool some_read(struct backend_log *log, uint64_t now_ns)
{
    char bytes[16384];
    ssize_t got = read(log->fd, bytes, sizeof bytes);
    if (got > 0) {
        ga_log_stream_take(&log->stream, bytes, (size_t)got, now_ns);
        log->bytes += (size_t)got;
    }
    return got > 0;
}

static void pipe_ready(uv_poll_t *poll, int status, int events);

static void window_passed(struct server_timer *timer)
{
    struct backend_log *log = ga_container(timer, struct backend_log, timer);
    (void)uv_poll_start(&log->poll, UV_READABLE, pipe_ready);
}

/* A process that writes without end costs no more than a pipe in each window. */
static void pipe_ready(uv_poll_t *poll, int status, int events)
{
    struct backend_log *log = ga_container(poll, struct backend_log, poll);
    uint64_t now_ns = timers_now(log->timers);
    (void)events;
    if (now_ns - log->since_ns >= WINDOW_MS * GA_NS_PER_MS) {
        log->since_ns = now_ns;
        log->bytes = 0;
    }
    if (status != 0 || !some_read(log, now_ns)) {
        (void)uv_poll_stop(poll); /* it has closed its end: it is dying, or strange */
    } else if (log->bytes / log->stream.times >= WINDOW_BYTES) {
        (void)uv_poll_stop(poll);
        timers_start(log->timers, &log->timer, window_passed, WINDOW_MS, 0);
    }
}

/* ---- its lines */

/* The client that a line is about: the only one that the process serves; of several, the one that
 * it names. */
static const char *client_told(const struct backend_process *process, const char *named)
{
    bool alone = backend_process_seats(process) == 1;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        const char *client = process->seats[i] != NULL ? process->seats[i]->client : NULL;
        if (client != NULL && (alone || (named != NULL && strcmp(client, named) == 0))) {
            return client;
        }
    }
    return NULL;
}

static void line_told(void *user, const struct ga_log_said *said)
{
    const struct backend_process *process = user;
    char text[GA_LOG_STREAM_LINE + 16];
    snprintf(text, sizeof text, "%s%s", said->record ? "" : "on stderr: ", said->text);
    ga_log_relay("gpuaasd-backend", process->child.pid, said->level,
                 client_told(process, said->client), text);
}

/* ---- life */

unsigned backend_log_begin(struct backend_process *process, int fd, bool phases)
{
    struct backend_log *log = &process->log;
    uv_loop_t *loop = process->room->loop;
    unsigned times = phases ? TIMES_PHASES : ga_log_enabled(GA_LOG_DEBUG) ? TIMES_DEBUG : 1;
    log->fd = fd;
    log->timers = process->room->timers;
    log->since_ns = timers_now(log->timers);
    log->poll.data = process;
    ga_log_stream_init(&log->stream, times, line_told, process, log->since_ns);
    int rc = uv_poll_init(loop, &log->poll, fd);
    log->watched = rc == 0;
    if (rc != 0) {
        ga_warn("lines of a backend process come late: %s", uv_strerror(rc));
        return 0;
    }
    (void)uv_poll_start(&log->poll, UV_READABLE, pipe_ready);
    return 1;
}

void backend_log_end(struct backend_log *log)
{
    if (log->fd < 0) {
        return;
    }
    timers_stop(log->timers, &log->timer);
    if (log->watched) {
        (void)uv_poll_stop(&log->poll);
    }
    for (log->bytes = 0; log->bytes < LEFT_BYTES && some_read(log, timers_now(log->timers));) {
    }
    ga_log_stream_end(&log->stream);
    close(log->fd);
    log->fd = -1;
}
