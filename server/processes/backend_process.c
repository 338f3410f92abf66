/* SPDX-License-Identifier: Apache-2.0 */
/* Starting backend processes and burying them. */
#include "server/processes/backend_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/processes/forbidden.h"
#include "server/processes/processes.h"

#define PROCESS_END_MS 2000 /* between closing its channel and SIGKILL */

/* For a process that does not read, gpuaasd keeps no more packets than this. */
#define WAITING_MAX        256u
#define WAITING_PASSED_MAX 16u

static void process_turns_end(struct backend_process *process)
{
    if (process->turns != NULL) {
        process->room->turns->end(process);
        process->turns = NULL;
    }
}

static void backend_process_free(struct backend_process *process)
{
    struct processes *room = process->room;
    ga_list_remove(&process->link);
    process_turns_end(process);
    backend_ends_undo(&process->ends);
    channel_queue_fini(&process->queue);
    free(process);
    room->count--;
    if (room->count == 0 && room->emptied != NULL) {
        room->emptied(room);
    }
}

/* ---- its seats */

/* That which a packet is about; NULL: there is no such seat. */
static struct process_seat *process_seat_find(const struct backend_process *process,
                                              uint32_t number)
{
    return number < CHANNEL_SEATS ? process->seats[number] : NULL;
}

static void seats_end(struct backend_process *process, const char *why)
{
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            process->seats[i]->ops->ended(process->seats[i], why);
        }
    }
}

static void seats_close(struct backend_process *process)
{
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            process->seats[i]->ops->closing(process->seats[i]);
        }
    }
}

/* For the log: that of its application; of several, the first one. */
static const struct process_seat *first_seat(const struct backend_process *process)
{
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            return process->seats[i];
        }
    }
    return NULL;
}

static const char *client_of(const struct backend_process *process)
{
    const struct process_seat *seat = first_seat(process);
    return seat != NULL ? seat->client : NULL;
}

static const char *label_of(const struct backend_process *process)
{
    const struct process_seat *seat = first_seat(process);
    return seat != NULL ? seat->label : "gpuaasd";
}

/* ---- its channel */

static void handle_closed(uv_handle_t *handle)
{
    struct backend_process *process = handle->data;
    if (--process->handles == 0) {
        backend_process_free(process);
    }
}

static void handle_close(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, handle_closed);
    }
}

static void log_close(struct backend_process *process)
{
    backend_log_end(&process->log);
    if (process->log.watched) {
        handle_close((uv_handle_t *)&process->log.poll);
    }
}

static void channel_close(struct backend_process *process)
{
    seats_close(process);
    if (process->fd >= 0) {
        (void)uv_poll_stop(&process->poll);
        handle_close((uv_handle_t *)&process->poll);
        close(process->fd);
        process->fd = -1;
        channel_queue_fini(&process->queue);
    }
}

/* A process that does not read its answers goes without. */
static void request_take(struct backend_process *process, const union channel_packet *packet,
                         int fd)
{
    struct channel_request answer = packet->request;
    struct process_seat *seat = process_seat_find(process, answer.seat);
    if (seat == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    if (seat->ops->request(seat, &answer, &fd)) {
        (void)!backend_process_tell(process, &answer, sizeof answer, fd);
    }
    explicit_bzero(&answer, sizeof answer);
}

void backend_process_kill(struct backend_process *process)
{
    (void)uv_process_kill(&process->child, SIGKILL);
}

static void backend_process_overdue(struct server_timer *timer)
{
    struct backend_process *process = ga_container(timer, struct backend_process, timer);
    if (!process->ending && !process->warm) {
        snprintf(process->why, sizeof process->why, "the backend process is not ready in time");
        ga_warn_of(client_of(process), "backend process %d of %s is not ready in time",
                   process->child.pid, label_of(process));
    }
    backend_process_kill(process);
}

static void time_limit(struct backend_process *process, uint64_t limit_ms)
{
    timers_start(process->room->timers, &process->timer, backend_process_overdue, limit_ms, 0);
}

/* A failure of the process is one for all that wait for it. */
static void failure_take(struct backend_process *process, const union channel_packet *packet)
{
    snprintf(process->why, sizeof process->why, "%s", packet->failed.reason);
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            process->seats[i]->ops->packet(process->seats[i], packet);
        }
    }
}

/* It ends by itself, or it has lied. */
static void forbidden_take(struct backend_process *process, const struct channel_forbidden *packet)
{
    if (!process->forbidden) {
        process->forbidden = true;
        snprintf(process->why, sizeof process->why,
                 "the backend process made a system call that its sandbox does not allow");
        forbidden_log(client_of(process), process->child.pid, label_of(process), packet->call);
        time_limit(process, PROCESS_END_MS);
    }
}

static void packet_take(struct backend_process *process, const union channel_packet *packet)
{
    struct process_seat *seat = process_seat_find(process, channel_packet_seat(packet));
    if (packet->kind == CHANNEL_WARM && !process->warm) {
        process->warm = true;
        timers_stop(process->room->timers, &process->timer);
    } else if (packet->kind == CHANNEL_ENDED && seat != NULL && process->outlives) {
        seat->ops->ended(seat, "it has ended");
    } else if (seat != NULL) {
        seat->ops->packet(seat, packet);
    } else if (packet->kind == CHANNEL_FAILED) {
        failure_take(process, packet);
    } else if (packet->kind == CHANNEL_FORBIDDEN) {
        forbidden_take(process, &packet->forbidden);
    }
    if (process->owner != NULL) {
        process->events->packet(process, packet);
    }
}

/* Reads the packets that the process sent before it died. */
static void channel_drain(struct backend_process *process)
{
    union channel_packet packet;
    while (process->fd >= 0 && channel_receive(process->fd, &packet) == GA_OK) {
        if (packet.kind != CHANNEL_REQUEST) {
            packet_take(process, &packet);
        }
    }
}

static void backend_process_exited(uv_process_t *child, int64_t status, int signal)
{
    struct backend_process *process = child->data;
    (void)GA_FAILPOINT("gpuaasd: backend process ended");
    channel_drain(process);
    log_close(process);
    char why[sizeof process->why + 16];
    if (process->why[0] != 0) {
        snprintf(why, sizeof why, "%s", process->why);
    } else if (signal != 0) {
        snprintf(why, sizeof why, "killed by signal %d (%s)", signal, strsignal(signal));
    } else {
        snprintf(why, sizeof why, "exit status %d", (int)status);
    }
    if ((signal != 0 || status != 0) && !process->ending && process->why[0] == 0) {
        ga_warn_of(client_of(process), "backend process %d of %s ended: %s", child->pid,
                   label_of(process), why);
    } else {
        ga_log_of(client_of(process), GA_LOG_DEBUG, "backend process %d of %s ended: %s",
                  child->pid, label_of(process), why);
    }
    channel_close(process);
    process->ending = true;
    seats_end(process, why);
    if (process->owner != NULL) {
        process->events->ended(process, why);
    }
    process->owner = NULL;
    timers_stop(process->room->timers, &process->timer);
    handle_close((uv_handle_t *)&process->child);
}

/* Takes a packet. False: there is none. */
static bool channel_read(struct backend_process *process, int status)
{
    union channel_packet packet;
    int fd;
    enum ga_status got = status == 0 ? channel_receive_with(process->fd, &packet, &fd) : GA_LOST;
    if (got == GA_LOST) {
        seats_close(process);
        (void)uv_poll_stop(&process->poll); /* it is dying: its exit is reported next */
        if (uv_is_active((uv_handle_t *)&process->child) && !process->ending) {
            time_limit(process, PROCESS_END_MS);
        }
        return false;
    }
    if (got != GA_OK) {
        return false;
    }
    if (packet.kind == CHANNEL_REQUEST) {
        request_take(process, &packet, fd);
    } else {
        packet_take(process, &packet);
    }
    return true;
}

void backend_process_hear(struct backend_process *process)
{
    while (uv_is_active((const uv_handle_t *)&process->poll) && channel_read(process, 0)) {
    }
}

static void channel_ready(uv_poll_t *poll, int status, int events)
{
    struct backend_process *process = poll->data;
    bool room = status == 0 && (events & UV_WRITABLE) != 0 &&
                channel_queue_flush(&process->queue, process->fd) == GA_OK;
    if (room) {
        (void)uv_poll_start(poll, UV_READABLE, channel_ready);
        if (process->room->turns != NULL) {
            process->room->turns->room(process);
        }
    }
    if (status != 0 || (events & UV_READABLE) != 0) {
        (void)channel_read(process, status);
    }
    for (unsigned i = 0; room && i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL && uv_is_active((uv_handle_t *)poll)) {
            process->seats[i]->ops->room(process->seats[i]);
        }
    }
}

static void room_await(struct backend_process *process)
{
    if (uv_is_active((const uv_handle_t *)&process->poll)) { /* else it is dying */
        (void)uv_poll_start(&process->poll, UV_READABLE | UV_WRITABLE, channel_ready);
    }
}

enum ga_status backend_process_send(struct backend_process *process, const void *packet,
                                    size_t size)
{
    enum ga_status status = channel_queue_flush(&process->queue, process->fd);
    if (status == GA_OK) {
        status = channel_send(process->fd, packet, size);
    }
    if (status == GA_AGAIN) {
        room_await(process);
    }
    return status;
}

enum ga_status backend_process_tell(struct backend_process *process, const void *packet,
                                    size_t size, int passed)
{
    if (process->fd < 0) {
        return GA_LOST;
    }
    enum ga_status status = channel_queue_send(&process->queue, process->fd, packet, size, passed);
    if (channel_queue_waits(&process->queue)) {
        room_await(process);
    }
    if (status != GA_OK && status != GA_LOST && !process->deaf) {
        process->deaf = true;
        ga_warn_of(client_of(process),
                   "backend process %d of %s does not read what it is told: it "
                   "is not told all any more",
                   process->child.pid, label_of(process));
    }
    return status;
}

static int backend_process_spawn(struct backend_process *process, const struct backend_ends *ends,
                                 char *const *env)
{
    char name[] = "gpuaasd", mode[] = "--backend";
    char *args[] = {name, mode, NULL};
    uv_stdio_container_t stdio[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = ends->log},
        [CHANNEL_FD] = {.flags = UV_INHERIT_FD, .data.fd = ends->channel},
        [FIGURES_FD] = {.flags = UV_INHERIT_FD, .data.fd = ends->figures},
        [GRANTS_REQUEST_FD] = {.flags = UV_INHERIT_FD, .data.fd = ends->requests},
        [GRANTS_FD] = {.flags = UV_INHERIT_FD, .data.fd = ends->grants},
        [GRANTS_BELL_FD] = {.flags = UV_INHERIT_FD, .data.fd = ends->bell},
    };
    uv_process_options_t options = {
        .exit_cb = backend_process_exited,
        .file = "/proc/self/exe",
        .args = args,
        .env = (char **)(uintptr_t)env,
        .stdio_count = ends->bell >= 0 ? GRANTS_BELL_FD + 1 : FIGURES_FD + 1,
        .stdio = stdio,
    };
    if (GA_FAILPOINT("gpuaasd: before exec")) {
        options.file = "/proc/self/exe/none";
    }
    return uv_spawn(process->room->loop, &process->child, &options);
}

/* All that can fail before there is a process. On failure nothing is left but the ends. */
static enum ga_status process_prepare(struct backend_process *process,
                                      const struct channel_setup *setup, char *why, size_t why_size)
{
    uv_loop_t *loop = process->room->loop;
    channel_queue_init(&process->queue, WAITING_MAX, WAITING_PASSED_MAX);
    process->child.data = process;
    process->poll.data = process;
    if (setup->turns != 0 &&
        process->room->turns->begin(process) != GA_OK) { /* it would escape the policy */
        return GA_NO_MEMORY;
    }
    int rc = GA_FAILPOINT("gpuaasd: before a channel is watched")
                 ? UV_ENOMEM
                 : uv_poll_init(loop, &process->poll, process->fd);
    if (rc != 0) {
        snprintf(why, why_size, "cannot start a backend process: %s", uv_strerror(rc));
        process_turns_end(process);
        return GA_NO_MEMORY;
    }
    process->handles =
        2 + backend_log_begin(process, process->ends.our_log, setup->conf.record_phases);
    process->ends.our_log = -1; /* the log's */
    return GA_OK;
}

enum ga_status backend_process_start(struct processes *room, const struct channel_setup *setup,
                                     char *const *env, unsigned timeout_s,
                                     const struct backend_process_events *events, void *owner,
                                     struct backend_process **out, char *why, size_t why_size)
{
    struct backend_process *process = calloc(1, sizeof *process);
    struct backend_ends ends;
    snprintf(why, why_size, "no memory");
    if (process == NULL || backend_ends_make(&ends, setup->probe == 0, why, why_size) != GA_OK) {
        free(process);
        return GA_NO_MEMORY;
    }
    *process = (struct backend_process){.room = room,
                                        .events = events,
                                        .owner = owner,
                                        .driver = setup->driver,
                                        .fd = ends.our_channel,
                                        .figures = ends.our_figures,
                                        .ends = ends,
                                        .number = ++room->last_number,
                                        .started_ns = timers_now(room->timers),
                                        .seat_limit = setup->seats,
                                        .outlives = setup->outlives != 0};
    if (process_prepare(process, setup, why, why_size) != GA_OK) {
        backend_ends_undo(&process->ends);
        free(process);
        return GA_NO_MEMORY;
    }
    int rc = backend_process_spawn(process, &ends, env);
    (void)GA_FAILPOINT("gpuaasd: backend process forked");
    backend_ends_close_theirs(&process->ends);
    process->ends.our_channel = -1; /* `fd` */
    ga_list_append(&room->processes, &process->link);
    room->count++;
    if (rc != 0) {
        snprintf(why, why_size, "cannot start a backend process: %s", uv_strerror(rc));
        process->owner = NULL;
        process->ending = true;
        channel_close(process);
        log_close(process);
        handle_close((uv_handle_t *)&process->child);
        return GA_LOST;
    }
    time_limit(process, (uint64_t)timeout_s * 1000);
    (void)uv_poll_start(&process->poll, UV_READABLE, channel_ready);
    if (GA_FAILPOINT("gpuaasd: before the setup") ||
        channel_send(process->fd, setup, sizeof *setup) != GA_OK) {
        snprintf(why, why_size, "a backend process died while it was started");
        backend_process_end(process);
        return GA_LOST;
    }
    *out = process;
    return GA_OK;
}

void backend_process_end(struct backend_process *process)
{
    process->owner = NULL;
    if (!process->ending) {
        (void)GA_FAILPOINT("gpuaasd: before a backend process is ended");
        process->ending = true;
        channel_close(process);
        time_limit(process, PROCESS_END_MS);
    }
}
