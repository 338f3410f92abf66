/* SPDX-License-Identifier: Apache-2.0 */
#include "server/seats/seat.h"

#include <unistd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"
#include "server/seats/claims.h"
#include "server/seats/reclaim.h"
#include "server/seats/seat_lending.h"
#include "server/seats/seat_turns.h"
#include "server/seats/seat_usage.h"
#include "server/tenants/tenant.h"
#include "server/turns/scheduler.h"
#include "server/usage/accounting.h"
#include "server/usage/gpu_times.h"

#define READY_MS 3000  /* of a warm process, which takes milliseconds */
#define END_MS   10000 /* of an application whose process goes on */
#define WATCH_MS 3000  /* how often a process is asked whether it serves */

/* The process may have been silent so often: its application may just be ending. */
#define SILENCES_MAX 3

void seats_room_init(struct seats_room *room, struct usage *usage)
{
    room->usage = usage;
    sharing_init(&room->sharing);
}

static struct server_timers *timers_of(const struct seat *seat)
{
    return seat->process->room->timers;
}

uint64_t seat_now(const struct seat *seat)
{
    return timers_now(timers_of(seat));
}

uint64_t seat_awake(const struct seat *seat)
{
    return timers_awake(timers_of(seat));
}

static struct seat *seat_timed(struct server_timer *timer)
{
    return ga_container(timer, struct seat, timer);
}

static struct seat *seat_of(struct process_seat *base)
{
    return ga_container(base, struct seat, base);
}

struct seat *seat_in(const struct backend_process *process, unsigned number)
{
    return process->seats[number] != NULL ? seat_of(process->seats[number]) : NULL;
}

/* Behind all that may still look at it. */
static void seat_free(struct server_timer *timer)
{
    struct seat *seat = seat_timed(timer);
    free(seat->claims);
    free(seat);
}

static void seat_fail(struct seat *seat, const char *what)
{
    struct backend_process *process = seat->process;
    snprintf(process->why, sizeof process->why, "the backend process %s", what);
    ga_warn_of(seat->of.address, "backend process %d of %s %s", process->child.pid, seat->of.label,
               what);
    backend_process_kill(process);
}

static void seat_not_ready(struct server_timer *timer)
{
    struct seat *seat = seat_timed(timer);
    seat_fail(seat, seat->prompt ? "has not answered" : "is not ready in time");
}

static void seat_not_ended(struct server_timer *timer)
{
    seat_fail(seat_timed(timer), "has not ended the application in time");
}

/* GA_OK: it is told now, or when there is room. */
static enum ga_status coming_tell(struct seat *seat)
{
    const struct seat_application *of = &seat->of;
    struct channel_application packet = {
        .kind = CHANNEL_APPLICATION, .seat = seat->number, .tls = of->tls};
    memcpy(packet.id, of->id, sizeof packet.id);
    snprintf(packet.bind_host, sizeof packet.bind_host, "%s", of->host);
    snprintf(packet.client, sizeof packet.client, "%s", of->address);
    packet.tenant = of->tenant->number;
    memcpy(packet.tenant_name, of->tenant->terms.name, sizeof packet.tenant_name);
    snprintf(packet.user, sizeof packet.user, "%s", of->user);
    packet.shown = *of->shown;
    packet.began_ns = seat->events->began_ns(seat, seat_now(seat));
    lender_tell(&seat->lender, &packet);
    enum ga_status status = backend_process_send(seat->process, &packet, sizeof packet);
    seat->untold = status == GA_AGAIN;
    return seat->untold ? GA_OK : status;
}

static enum ga_status share_send(void *user, const struct channel_request *packet, int fd)
{
    return backend_process_tell(((struct seat *)user)->process, packet, sizeof *packet, fd);
}

static void share_charge(void *user, enum opened_charge change, uint32_t gpu, uint64_t bytes)
{
    struct seat *seat = user;
    switch (change) {
    case OPENED_TAKEN_OVER:
        lender_take_over(&seat->lender, gpu, bytes);
        break;
    case OPENED_GIVEN_UP:
        lender_give_up(&seat->lender, gpu, bytes);
        break;
    case OPENED_PASSED_ON:
        lender_pass_on(&seat->lender, gpu, bytes);
        break;
    }
}

/* For people who look at the account: a process that ends by itself has seen that the program
 * has. */
static const char *seat_end_reason(const struct seat *seat, const char *why)
{
    const char *terminated = seat->events->reason(seat);
    bool ended = seat->left || strcmp(why, "exit status 0") == 0;
    return terminated[0] != 0 ? terminated : ended ? "the program has ended" : why;
}

/* Reads the errors that its process reports. */
static void fault_look(const struct seat *seat)
{
    uint32_t fault = atomic_load_explicit(&seat->usage.figures->fault, memory_order_relaxed);
    if (seat->tickets_sent != 0) { /* else it has used no GPU */
        health_session_ended(seat->process->room, seat->process->driver, fault != 0);
    }
}

static void seat_end(struct seat *seat, const char *why)
{
    gpu_times_seat_ends(&seat->usage);
    accounting_seat_ended(&seat->usage, seat_end_reason(seat, why));
    gpu_times_seat_ended(&seat->usage);
    fault_look(seat);
    bool claimed = gpu_set_any(seat->claimed);
    seat->process->seats[seat->number] = NULL;
    sharing_share_end(&seat->room->sharing, &seat->share);
    lender_seat_end(&seat->lender);
    if (seat->process->turns != NULL) {
        scheduler_seat_end(seat->process->turns, seat->number);
    }
    if (!seat->left) {
        seat->left = true;
        seat->events->ended(seat, why);
    }
    timers_start(timers_of(seat), &seat->timer, seat_free, 0, 0);
    seat->events->gone(seat, claimed);
}

enum ga_status seat_send(struct seat *seat, const void *packet, size_t size)
{
    return seat->left ? GA_LOST : backend_process_send(seat->process, packet, size);
}

uint64_t seat_began_ns(const struct seat *seat, uint64_t now)
{
    /* For the data connection, and as long again for the side connection. */
    uint64_t ticket_s = seat->process->room->conf->server.backend.ticket_s;
    uint64_t latest = seat->usage.taken_ns + 2 * ticket_s * GA_NS_PER_S;
    return seat->bound_ns != 0 ? seat->bound_ns : latest < now ? latest : 0;
}

enum ga_status seat_tell(struct seat *seat, const void *packet, size_t size)
{
    return seat->left || seat->untold ? GA_LOST
                                      : backend_process_tell(seat->process, packet, size, -1);
}

static void seat_ask(struct seat *seat)
{
    const struct channel_seat alone = {.kind = CHANNEL_ALONE, .seat = seat->number};
    seat->answered = false;
    (void)!backend_process_send(seat->process, &alone, sizeof alone); /* else with the next look */
}

static void seat_watched(struct server_timer *timer)
{
    struct seat *seat = seat_timed(timer);
    seat->silences = seat->answered ? 0 : seat->silences + 1;
    if (seat->silences == SILENCES_MAX) {
        seat_fail(seat, "does not say whether its program is there, and nobody else can");
    } else {
        seat_ask(seat);
    }
}

void seat_watch(struct seat *seat)
{
    seat->silences = 0;
    seat_ask(seat);
    timers_start(timers_of(seat), &seat->timer, seat_watched, WATCH_MS, WATCH_MS);
}

void seat_watch_end(struct seat *seat)
{
    timers_stop(timers_of(seat), &seat->timer);
}

/* The others of a process whose channel is full lose nothing: it is told when there is room. */
static void leave_tell(struct seat *seat)
{
    struct backend_process *process = seat->process;
    const struct channel_seat leave = {.kind = CHANNEL_LEAVE, .seat = seat->number};
    enum ga_status status = process->outlives && !process->ending
                                ? backend_process_send(process, &leave, sizeof leave)
                                : GA_LOST;
    seat->untold = status == GA_AGAIN;
    if (status != GA_OK && status != GA_AGAIN) {
        timers_stop(timers_of(seat), &seat->timer);
        backend_process_end(process);
    }
}

void seat_leave(struct seat *seat)
{
    bool unknown = seat->untold && seat->process->outlives && !seat->process->ending;
    seat->left = true;
    if (unknown) {
        seat_end(seat, "the process has never heard of it");
        return;
    }
    timers_start(timers_of(seat), &seat->timer, seat_not_ended, END_MS, 0);
    leave_tell(seat);
}

static void seat_room(struct process_seat *base)
{
    struct seat *seat = seat_of(base);
    if (seat->untold && seat->left) {
        leave_tell(seat);
    } else if (seat->untold) {
        (void)!coming_tell(seat); /* lost: its exit comes next */
    } else if (!seat->left) {
        seat->events->room(seat);
    }
    lender_seat_room(&seat->lender);
}

static void bound_take(struct seat *seat, uint32_t gpu)
{
    if (gpu < seat->process->room->devices.visible_count) {
        seat->bound_ns = seat->bound_ns != 0 ? seat->bound_ns : seat_now(seat);
        claims_bound(seat, gpu);
    }
}

static void seat_packet(struct process_seat *base, const union channel_packet *packet)
{
    struct seat *seat = seat_of(base);
    if (packet->kind == CHANNEL_READY && !seat->ready) {
        (void)GA_FAILPOINT("gpuaasd: backend process ready");
        seat->ready = true;
        memcpy(seat->url, packet->ready.url, sizeof seat->url);
        memcpy(seat->local, packet->ready.local, sizeof seat->local);
        seat->ways = packet->ready.ways;
        if (!seat->left) {
            timers_stop(timers_of(seat), &seat->timer);
        }
    } else if (packet->kind == CHANNEL_BOUND) {
        bound_take(seat, packet->claim.gpu);
    } else if (packet->kind == CHANNEL_VOID) {
        claims_answered(seat, &packet->claim);
    } else if (packet->kind == CHANNEL_SERVED) {
        seat->served_ns = seat->served_ns != 0 ? seat->served_ns : seat_now(seat);
        seat->answered = true;
    } else if (packet->kind == CHANNEL_FAILED) {
        snprintf(seat->process->why, sizeof seat->process->why, "%s", packet->failed.reason);
    }
    if (!seat->left) {
        seat->events->packet(seat, packet);
    }
}

static bool seat_request(struct process_seat *base, struct channel_request *packet, int *fd)
{
    struct seat *seat = seat_of(base);
    if (packet->verb == CHANNEL_IMAGE_KEEP || packet->verb == CHANNEL_IMAGE_FIND) {
        const struct owner *owner = seat->of.owner;
        return images_answer(&seat->process->room->images, seat->left ? NULL : owner, packet, fd);
    }
    if (!reclaim_is(packet) && !lender_is(packet)) {
        sharing_take(&seat->room->sharing, &seat->share, packet, *fd);
        *fd = -1;
        return false;
    }
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    if (lender_is(packet)) {
        lender_take(&seat->lender, packet);
        return false;
    }
    reclaim_answer(seat, packet);
    return true;
}

static void seat_ended(struct process_seat *base, const char *why)
{
    seat_end(seat_of(base), why);
}

static enum ga_status seat_turns(struct process_seat *base)
{
    struct seat *seat = seat_of(base);
    for (uint32_t gpu = 0; gpu < CONF_GPUS_MAX; gpu++) {
        if (gpu_set_has(seat->gpus, gpu) || gpu_set_has(seat->claimed, gpu)) {
            GA_TRY(seat_session_begin(seat, gpu));
        }
    }
    return GA_OK;
}

static void seat_closing(struct process_seat *base)
{
    struct seat *seat = seat_of(base);
    sharing_share_close(&seat->room->sharing, &seat->share);
}

static const struct process_seat_ops seat_ops = {.packet = seat_packet,
                                                 .request = seat_request,
                                                 .room = seat_room,
                                                 .turns = seat_turns,
                                                 .closing = seat_closing,
                                                 .ended = seat_ended};

enum ga_status seat_take(struct seats_room *room, struct backend_process *process,
                         struct control_application *application, const struct seat_application *of,
                         unsigned timeout_s, const struct seat_events *events, struct seat **out)
{
    struct seat *seat = calloc(1, sizeof *seat);
    if (seat == NULL) {
        return GA_NO_MEMORY;
    }
    *seat = (struct seat){.base = {.ops = &seat_ops, .client = of->address, .label = of->label},
                          .process = process,
                          .number = backend_process_seat_free(process),
                          .room = room,
                          .events = events,
                          .application = application,
                          .of = *of,
                          .prompt = process->warm};
    seat_usage_begin(seat);
    seat_lending_init(seat);
    if (lender_seat_begin(&seat->lender) != GA_OK) {
        free(seat);
        return GA_NO_MEMORY;
    }
    sharing_share_init(&seat->share, of->tenant->number, seat->number, share_send, share_charge,
                       seat);
    process->seats[seat->number] = &seat->base;
    gpu_times_seat_taken(&seat->usage);
    accounting_seat_taken(&seat->usage);
    if (coming_tell(seat) != GA_OK) {
        seat->left = true; /* nobody is told */
        backend_process_end(process);
        return GA_LOST;
    }
    uint64_t limit_ms = (uint64_t)timeout_s * 1000;
    if (seat->prompt && limit_ms > READY_MS) {
        limit_ms = READY_MS;
    }
    timers_start(timers_of(seat), &seat->timer, seat_not_ready, limit_ms, 0);
    *out = seat;
    return GA_OK;
}
