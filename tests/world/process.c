/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/process.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "server/processes/processes.h"
#include "tests/world/node.h"

#define END_MS 2000 /* as in backend_process.c */

static void process_overdue(struct server_timer *timer)
{
    struct world_process *of = ga_container(timer, struct world_process, process.timer);
    if (!of->process.ending && !of->process.warm) {
        snprintf(of->process.why, sizeof of->process.why,
                 "the backend process is not ready in time");
    }
    backend_process_kill(&of->process);
}

/* ---- packets */

static struct process_seat *seat_of(const struct world_process *of,
                                    const union channel_packet *packet)
{
    uint32_t number = channel_packet_seat(packet);
    return number < CHANNEL_SEATS ? of->process.seats[number] : NULL;
}

static void request_take(struct world_process *of, const union channel_packet *packet)
{
    struct process_seat *seat = seat_of(of, packet);
    struct channel_request answer = packet->request;
    int fd = -1;
    if (seat != NULL && seat->ops->request(seat, &answer, &fd)) {
        (void)!backend_process_tell(&of->process, &answer, sizeof answer, fd);
    }
}

static void packet_take(struct world_process *of, const union channel_packet *packet)
{
    struct backend_process *process = &of->process;
    struct process_seat *seat = seat_of(of, packet);
    if (packet->kind == CHANNEL_WARM) {
        process->warm = true;
        timers_stop(process->room->timers, &process->timer);
    } else if (seat != NULL) {
        seat->ops->packet(seat, packet);
    }
    if (process->owner != NULL) {
        process->events->packet(process, packet);
    }
}

static void process_said(struct world_queue *queue, const struct world_message *message)
{
    struct world_process *of = ga_container(queue, struct world_process, to_gpuaasd);
    const union channel_packet *packet = (const union channel_packet *)message->bytes;
    if (of->process.fd < 0) {
        return; /* its channel is closed */
    }
    if (packet->kind == CHANNEL_REQUEST) {
        request_take(of, packet);
    } else {
        packet_take(of, packet);
    }
}

static void process_told(struct world_queue *queue, const struct world_message *message)
{
    struct world_process *of = ga_container(queue, struct world_process, to_backend);
    if (!of->dead) {
        backend_take(&of->backend,
                     message->size != 0 ? (const union channel_packet *)message->bytes : NULL);
    }
}

void process_say(struct world_process *of, const void *packet, size_t size)
{
    queue_send(&of->to_gpuaasd, packet, size);
}

enum ga_status backend_process_send(struct backend_process *process, const void *packet,
                                    size_t size)
{
    if (process->fd < 0) {
        return GA_LOST;
    }
    queue_send(&process_of(process)->to_backend, packet, size);
    return GA_OK;
}

enum ga_status backend_process_tell(struct backend_process *process, const void *packet,
                                    size_t size, int passed)
{
    (void)passed;
    return backend_process_send(process, packet, size);
}

void backend_process_hear(struct backend_process *process)
{
    queue_take_all(&process_of(process)->to_gpuaasd);
}

/* ---- its end */

static void channel_shut(struct backend_process *process)
{
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            process->seats[i]->ops->closing(process->seats[i]);
        }
    }
    process->fd = -1;
}

static void process_exited(struct server_timer *timer)
{
    struct world_process *of = ga_container(timer, struct world_process, exit);
    struct backend_process *process = &of->process;
    char why[sizeof process->why];
    of->dead = true;
    backend_end(&of->backend);
    queue_take_all(&of->to_gpuaasd);
    snprintf(why, sizeof why, "%s",
             process->why[0] != 0 ? process->why
             : of->signal != 0    ? "killed by signal 9 (Killed)"
                                  : "exit status 0");
    world_log(of->node->world, "node %u process %d: %s", of->node->number, (int)process->number,
              why);
    channel_shut(process);
    process->ending = true;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        if (process->seats[i] != NULL) {
            process->seats[i]->ops->ended(process->seats[i], why);
        }
    }
    if (process->owner != NULL) {
        process->events->ended(process, why);
    }
    process->owner = NULL;
    timers_stop(process->room->timers, &process->timer);
    queue_end(&of->to_backend);
    queue_end(&of->to_gpuaasd);
    ga_list_append(&of->node->buried, &of->grave);
}

void process_exit(struct world_process *of, unsigned ms, int signal)
{
    if (!of->dead && (!of->exit.runs || signal != 0)) {
        of->signal = signal;
        timers_start(&of->node->world->events, &of->exit, process_exited, ms, 0);
    }
}

void backend_process_kill(struct backend_process *process)
{
    struct world *world = process_of(process)->node->world;
    world->counts.killed++;
    world_log(world, "node %u process %d is killed", process_of(process)->node->number,
              (int)process->number);
    process_exit(process_of(process), 1, SIGKILL);
}

void backend_process_end(struct backend_process *process)
{
    process->owner = NULL;
    if (!process->ending) {
        process->ending = true;
        channel_shut(process);
        queue_send(&process_of(process)->to_backend, NULL, 0);
        timers_start(process->room->timers, &process->timer, process_overdue, END_MS, 0);
    }
}

void processes_bury(struct world_node *node)
{
    ga_list_each (at, next, &node->buried) {
        struct world_process *of = ga_container(at, struct world_process, grave);
        struct processes *room = of->process.room;
        ga_list_remove(at);
        ga_list_remove(&of->process.link);
        room->count--;
        munmap(of->page, sizeof *of->page);
        free(of);
        if (room->count == 0 && room->emptied != NULL) {
            room->emptied(room);
        }
    }
}

/* ---- its beginning */

enum ga_status backend_process_start(struct processes *room, const struct channel_setup *setup,
                                     char *const *env, unsigned timeout_s,
                                     const struct backend_process_events *events, void *owner,
                                     struct backend_process **out, char *why, size_t why_size)
{
    struct world_node *node = node_of(room);
    struct world_process *of = calloc(1, sizeof *of);
    (void)env, (void)why, (void)why_size;
    cr_assert_not_null(of);
    of->page = mmap(NULL, sizeof *of->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0); /* little of it is used */
    cr_assert_neq(of->page, MAP_FAILED);
    of->node = node;
    of->process = (struct backend_process){.room = room,
                                           .events = events,
                                           .owner = owner,
                                           .driver = setup->driver,
                                           .number = ++room->last_number,
                                           .started_ns = timers_now(room->timers),
                                           .seat_limit = setup->seats,
                                           .outlives = setup->outlives != 0,
                                           .figures = of->page,
                                           .fd = 0};
    of->process.child.pid = (int)of->process.number;
    queue_init(&of->to_backend, node->world, 0, 1, process_told);
    queue_init(&of->to_gpuaasd, node->world, 0, 1, process_said);
    ga_list_append(&room->processes, &of->process.link);
    room->count++;
    timers_start(room->timers, &of->process.timer, process_overdue, (uint64_t)timeout_s * 1000, 0);
    backend_begin(&of->backend, of, setup);
    *out = &of->process;
    return GA_OK;
}

struct world_process *process_find(const struct world_node *node, uint64_t number)
{
    ga_list_each (at, next, &node->processes.processes) {
        struct world_process *of = ga_container(at, struct world_process, process.link);
        if (of->process.number == number && !of->dead) {
            return of;
        }
    }
    return NULL;
}
