/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/world/backend.h"

#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "tests/world/node.h"
#include "tests/world/process.h"
#include "tests/world/program.h"

#define LIMITS_MS 1000u

static struct world *world_of(const struct world_backend *backend)
{
    return backend->process->node->world;
}

static void say(struct world_backend *backend, const void *packet, size_t size)
{
    if (!backend->hangs) {
        process_say(backend->process, packet, size);
    }
}

static void say_seat(struct world_backend *backend, enum channel_kind kind)
{
    const struct channel_seat packet = {.kind = kind, .seat = backend->application.seat};
    say(backend, &packet, sizeof packet);
}

static void exit_soon(struct world_backend *backend)
{
    if (!backend->hangs) {
        process_exit(backend->process, 5 + (unsigned)world_any(world_of(backend), 40), 0);
    }
}

/* ---- life */

static void backend_checks(struct server_timer *timer)
{
    struct world_backend *backend = ga_container(timer, struct world_backend, timer);
    world_of(backend)->counts.checks++;
    for (uint32_t i = 0; i < WORLD_GPUS; i++) {
        struct channel_checked packet = {.kind = CHANNEL_CHECKED, .device = i};
        if (world_chance(world_of(backend), 20)) {
            snprintf(packet.reason, sizeof packet.reason, "it computes wrong values");
        }
        say(backend, &packet, sizeof packet);
    }
    exit_soon(backend);
}

static void backend_is_warm(struct server_timer *timer)
{
    struct world_backend *backend = ga_container(timer, struct world_backend, timer);
    const struct channel_bare warm = {.kind = CHANNEL_WARM};
    say(backend, &warm, sizeof warm);
}

void backend_begin(struct world_backend *backend, struct world_process *process,
                   const struct channel_setup *setup)
{
    *backend = (struct world_backend){.process = process, .probe = setup->probe != CHANNEL_SERVES};
    struct world *world = world_of(backend);
    uint64_t ms = 300 + world_any(world, 600);
    backend->hangs = !backend->probe && world_chance(world, 1);
    timers_start(&world->events, &backend->timer, backend->probe ? backend_checks : backend_is_warm,
                 ms, 0);
}

/* Its program is not connected any more, or never was. */
static void sessions_end(struct world_backend *backend)
{
    for (uint32_t gpu = 0; gpu < WORLD_GPUS; gpu++) {
        if (backend->opened[gpu]) {
            backend_free(backend, gpu, backend->charged[gpu]);
            gpu_session_end(&backend->sessions[gpu]);
            backend->opened[gpu] = false;
        }
    }
    timers_stop(&world_of(backend)->events, &backend->limits);
}

void backend_end(struct world_backend *backend)
{
    struct world_program *program = backend->program;
    for (uint32_t gpu = 0; gpu < WORLD_GPUS; gpu++) {
        backend->sessions[gpu].dead = true;
    }
    timers_stop(&world_of(backend)->events, &backend->timer);
    sessions_end(backend);
    backend->program = NULL;
    if (program != NULL) {
        program_lost(program);
    }
}

void backend_leave(struct world_backend *backend)
{
    sessions_end(backend);
    backend->program = NULL;
    exit_soon(backend);
}

/* The program is told why, and ends its connections. */
static void program_end(struct world_backend *backend, const char *why)
{
    struct world_program *program = backend->program;
    backend_leave(backend);
    if (program != NULL) {
        program_told(program, why);
    }
}

/* ---- what gpuaasd says */

static void application_take(struct world_backend *backend,
                             const struct channel_application *packet)
{
    struct channel_ready ready = {.kind = CHANNEL_READY, .seat = packet->seat};
    backend->taken = true;
    backend->application = *packet;
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        for (uint32_t gpu = 0; gpu < WORLD_GPUS; gpu++) {
            if ((packet->boundless >> kind & 1) != 0 && (gpu == 0 || kind == CHANNEL_LENT_DEVICE)) {
                backend->lent[kind][gpu] = CHANNEL_BOUNDLESS;
            }
        }
    }
    backend->hangs = backend->hangs || world_chance(world_of(backend), 1);
    snprintf(ready.url, sizeof ready.url, "tcp://127.0.0.1:1");
    say(backend, &ready, sizeof ready);
}

static void ticket_take(struct world_backend *backend, const struct channel_ticket *packet)
{
    struct backend_ticket *ticket = &backend->tickets[backend->ticket_count++ % BACKEND_TICKETS];
    *ticket = (struct backend_ticket){.gpu = packet->gpu};
    memcpy(ticket->id, packet->id, sizeof ticket->id);
}

static void void_take(struct world_backend *backend, const struct channel_claim *packet)
{
    struct channel_claim answer = *packet;
    answer.tickets = backend->ticket_count;
    for (unsigned i = 0; i < BACKEND_TICKETS; i++) {
        struct backend_ticket *ticket = &backend->tickets[i];
        if (ticket->gpu == packet->gpu) {
            answer.used = answer.used != 0 || ticket->shown;
            ticket->void_ = !ticket->shown;
        }
    }
    say(backend, &answer, sizeof answer);
}

static void alone_take(struct world_backend *backend)
{
    const struct channel_idle idle = {
        .kind = CHANNEL_IDLE, .seat = backend->application.seat, .tickets = backend->ticket_count};
    if (backend->program != NULL) {
        say_seat(backend, CHANNEL_SERVED);
    } else {
        say(backend, &idle, sizeof idle);
    }
}

/* ---- memory */

static uint64_t unused(const struct world_backend *backend, unsigned kind, uint32_t gpu)
{
    uint64_t used = kind == CHANNEL_LENT_DEVICE ? backend->charged[gpu] : 0;
    return backend->lent[kind][gpu] - used;
}

static void request_say(struct world_backend *backend, uint32_t verb, uint32_t number,
                        uint32_t what, uint32_t gpu, uint64_t bytes)
{
    const struct channel_request packet = {.kind = CHANNEL_REQUEST,
                                           .seat = backend->application.seat,
                                           .verb = verb,
                                           .number = number,
                                           .what = what,
                                           .address = gpu,
                                           .bytes = bytes};
    say(backend, &packet, sizeof packet);
}

static void recall_take(struct world_backend *backend, const struct channel_request *packet)
{
    for (unsigned kind = 0; kind < CHANNEL_LENT_KINDS; kind++) {
        for (uint32_t gpu = 0; gpu < WORLD_GPUS && (packet->bytes >> kind & 1) != 0; gpu++) {
            uint64_t bytes = unused(backend, kind, gpu);
            if (bytes != 0 && !backend->hangs) {
                backend->lent[kind][gpu] -= bytes;
                request_say(backend, CHANNEL_RETURN, 0, kind, gpu, bytes);
            }
        }
    }
    request_say(backend, CHANNEL_RECALL, packet->number, 0, 0, 0);
}

static void charge(struct world_backend *backend, uint32_t gpu, uint64_t bytes)
{
    struct world_process *of = backend->process;
    uint32_t seat = backend->application.seat;
    backend->charged[gpu] += bytes;
    backend->sessions[gpu].gpu->bytes += bytes;
    of->page->seats[seat].of[FIGURE_DEVICE_BYTES] += bytes;
    figures_memory_change(&of->page->memory[seat][gpu], bytes,
                          world_of(backend)->now_ns / GA_NS_PER_MS);
}

void backend_free(struct world_backend *backend, uint32_t gpu, uint64_t bytes)
{
    charge(backend, gpu, -bytes);
}

static bool try_charge(struct world_backend *backend, uint32_t gpu, uint64_t bytes)
{
    if (unused(backend, CHANNEL_LENT_DEVICE, gpu) < bytes) {
        return false;
    }
    charge(backend, gpu, bytes);
    program_allocated(backend->program, gpu, bytes, true);
    return true;
}

void backend_allocate(struct world_backend *backend, uint32_t gpu, uint64_t bytes)
{
    if (backend->sessions[gpu].gpu->bytes + bytes > NODE_GPU_BYTES) {
        program_allocated(backend->program, gpu, bytes, false); /* the driver has no more */
    } else if (!try_charge(backend, gpu, bytes)) {
        uint64_t lacks = bytes - unused(backend, CHANNEL_LENT_DEVICE, gpu);
        backend->asks = bytes;
        backend->asks_gpu = gpu;
        request_say(backend, CHANNEL_LEND, ++backend->questions, CHANNEL_LENT_DEVICE, gpu, lacks);
    }
}

static void lend_take(struct world_backend *backend, const struct channel_request *packet)
{
    uint64_t asks = backend->asks;
    if (packet->result == CUDA_SUCCESS) {
        backend->lent[packet->what][packet->address] += packet->bytes;
    }
    if (packet->number == 0 || packet->number != backend->questions || asks == 0 ||
        backend->program == NULL) {
        return;
    }
    backend->asks = 0;
    if (packet->result != CUDA_SUCCESS || !try_charge(backend, backend->asks_gpu, asks)) {
        program_allocated(backend->program, backend->asks_gpu, asks, false);
    }
}

static void request_take(struct world_backend *backend, const struct channel_request *packet)
{
    if (packet->verb == CHANNEL_LEND) {
        lend_take(backend, packet);
    } else if (packet->verb == CHANNEL_RECALL) {
        recall_take(backend, packet);
    } else if (packet->verb == CHANNEL_TRIM) {
        request_say(backend, CHANNEL_TRIMMED, 0, 0, 0, 0);
    }
}

void backend_take(struct world_backend *backend, const union channel_packet *packet)
{
    if (backend->hangs) {
        return;
    }
    switch (packet != NULL ? packet->kind : 0) {
    case 0:
        program_end(backend, "the channel is closed");
        break;
    case CHANNEL_APPLICATION:
        application_take(backend, &packet->application);
        break;
    case CHANNEL_TICKET:
        ticket_take(backend, &packet->ticket);
        break;
    case CHANNEL_VOID:
        void_take(backend, &packet->claim);
        break;
    case CHANNEL_ALONE:
        alone_take(backend);
        break;
    case CHANNEL_LIMITS:
        backend->application.limits = packet->limits.limits;
        break;
    case CHANNEL_NOTICE:
        if (packet->notice.notice == WIRE_NOTICE_END) {
            world_of(backend)->counts.terminated++;
            program_end(backend, packet->notice.text);
        }
        break;
    case CHANNEL_REQUEST:
        request_take(backend, &packet->request);
        break;
    default:
        break;
    }
}

/* ---- its program */

/* Every second; some forget it, and gpuaasd ends them later. */
static void limits_look(struct server_timer *timer)
{
    struct world_backend *backend = ga_container(timer, struct world_backend, limits);
    uint64_t most_ms = backend->application.limits.of[LIMIT_WALL_TIME];
    uint64_t age_ms = (world_of(backend)->now_ns - backend->opened_ns) / GA_NS_PER_MS;
    if (most_ms != LIMIT_NONE && age_ms > most_ms && world_chance(world_of(backend), 30)) {
        program_end(backend, "limit wall-time");
    }
}

static void gpu_open(struct world_backend *backend, uint32_t gpu)
{
    struct world_process *of = backend->process;
    uint32_t seat = backend->application.seat, row = 0;
    while (row < WORLD_GPUS && of->page->seats[seat].gpus[row].gpu != 0) {
        row++;
    }
    backend->opened[gpu] = true;
    backend->sessions[gpu] = (struct world_session){.figures = &of->page->seats[seat],
                                                    .times = &of->page->times[seat],
                                                    .row = row,
                                                    .tenant = program_tenant(backend->program)};
    const struct devices *devices = &of->node->processes.devices;
    gpu_session_begin(&of->node->gpus[gpu], &backend->sessions[gpu],
                      devices_visible(devices, gpu)->ordinal);
}

bool backend_show(struct world_backend *backend, struct world_program *program,
                  const uint8_t id[16], uint32_t gpu)
{
    struct backend_ticket *found = NULL;
    for (unsigned i = 0; i < BACKEND_TICKETS; i++) {
        struct backend_ticket *ticket = &backend->tickets[i];
        bool fits = memcmp(ticket->id, id, sizeof ticket->id) == 0 && ticket->gpu == gpu;
        found = fits && i < backend->ticket_count ? ticket : found;
    }
    if (found == NULL || found->shown || found->void_ || backend->hangs) {
        return false;
    }
    const struct channel_claim bound = {
        .kind = CHANNEL_BOUND, .seat = backend->application.seat, .gpu = gpu};
    found->shown = true;
    if (backend->program == NULL) {
        backend->program = program;
        backend->opened_ns = world_of(backend)->now_ns;
        timers_start(&world_of(backend)->events, &backend->limits, limits_look, LIMITS_MS,
                     LIMITS_MS);
        say_seat(backend, CHANNEL_SERVED);
    }
    if (!backend->opened[gpu]) {
        gpu_open(backend, gpu);
        say(backend, &bound, sizeof bound);
    }
    return true;
}
