/* SPDX-License-Identifier: Apache-2.0 */
/* The seats of an application in backend processes, and what it does when they say something. */
#include <stdio.h>
#include <string.h>

#include "api/cuda_names.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/applications/scheduling_terms.h"
#include "server/applications/terminate.h"
#include "server/seats/claims.h"
#include "server/seats/seat.h"
#include "server/turns/scheduler.h"

/* The application has lost a seat. */
static void application_alone_look(struct control_application *application)
{
    if (application->alone && !control_application_has_seat(application)) {
        control_application_end(application);
    }
}

static void seat_forget(struct control_application *application, const struct seat *seat)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (application->seats[i] == seat) {
            application->seats[i] = NULL;
        }
    }
    drain_look(application->room);
}

void control_application_abandon(struct control_application *application, struct seat *seat)
{
    seat_forget(application, seat);
    seat_leave(seat);
}

static struct application_client *client_at(struct ga_list *link)
{
    return ga_container(link, struct application_client, beside);
}

/* Whether any open of it waits for this seat; for any, if that is NULL. */
static bool is_waited_for(const struct control_application *application, const struct seat *seat)
{
    bool waits = false;
    ga_list_each (at, next, &application->clients) {
        const struct application_client *client = client_at(at);
        waits = waits || client->ops->waits(client, seat);
    }
    return waits;
}

/* Answers the opens that waited for this seat; `reason` NULL: it is ready. */
static void clients_answer(struct control_application *application, struct seat *seat,
                           int32_t result, const char *reason)
{
    ga_list_each (at, next, &application->clients) {
        struct application_client *client = client_at(at);
        client->ops->answer(client, seat, result, reason);
    }
}

/* Any of them may be closed by it, and the application end with the last one. */
static void clients_flush(struct control_application *application)
{
    control_application_keep(application);
    ga_list_each (at, next, &application->clients) {
        struct application_client *client = client_at(at);
        client->ops->flush(client);
    }
    control_application_drop(application);
}

/* The opens that wait for it wait for another one. */
static void seat_replace(struct control_application *application, struct seat *seat)
{
    char why[300];
    if (is_waited_for(application, seat) &&
        control_application_start(application, seat->process->driver, why, sizeof why) != GA_OK) {
        clients_answer(application, seat, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    }
    control_application_abandon(application, seat);
    application_alone_look(application);
}

static void application_packet(struct seat *seat, const union channel_packet *packet)
{
    struct control_application *application = seat->application;
    switch (packet->kind) {
    case CHANNEL_READY:
        clients_answer(application, seat, 0, NULL);
        break;
    case CHANNEL_FAILED:
        clients_answer(application, seat, packet->failed.result, packet->failed.reason);
        break;
    case CHANNEL_BOUND:
        (void)control_application_began(application, timers_now(application->room->timers));
        return;
    case CHANNEL_VOID:
        if (!claims_doubted(seat)) {
            control_applications_open_again(application->room);
            return;
        }
        seat_replace(application, seat);
        break;
    case CHANNEL_SERVED:
        if (application->alone && !application->alone_told) {
            application->alone_told = true;
            ga_info_of(application->address,
                       "%s: goes on without its control connection, which has ended",
                       application->label);
            terminate_found(application);
        }
        return;
    case CHANNEL_IDLE:
        if (packet->idle.tickets == seat->tickets_sent && !is_waited_for(application, NULL)) {
            control_application_abandon(application, seat);
            application_alone_look(application);
            break; /* it may have become idle */
        }
        return;
    default:
        return;
    }
    clients_flush(application);
}

static void application_room(struct seat *seat)
{
    clients_answer(seat->application, seat, 0, NULL);
    clients_flush(seat->application);
}

/* The opens that waited for it wait for another one if it was a spare that has not answered. */
static void application_seat_ended(struct seat *seat, const char *why)
{
    struct control_application *application = seat->application;
    char none[300];
    bool silent = seat->prompt && !seat->ready;
    if (application->terminated_ns == 0 && !silent && strcmp(why, "exit status 0") != 0) {
        application->closes = APPLICATION_CRASHES;
    } else if (atomic_load(&seat->usage.figures->silent) != 0) {
        control_application_lost(application, APPLICATION_SILENT);
    }
    if (silent && is_waited_for(application, seat)) {
        enum ga_status status =
            control_application_start(application, seat->process->driver, none, sizeof none);
        why = status == GA_OK ? why : none;
    }
    clients_answer(application, seat, CUDA_ERROR_DEVICE_UNAVAILABLE, why);
    seat_forget(application, seat);
    clients_flush(application);
    application_alone_look(application);
}

static uint64_t application_seat_began(const struct seat *seat, uint64_t now)
{
    return control_application_began(seat->application, now);
}

static uint64_t application_terms(const struct seat *seat, struct scheduler_terms *terms)
{
    *terms = scheduling_terms_of(seat->application);
    return scheduling_tenant_of(seat->application);
}

static const char *application_reason(const struct seat *seat)
{
    const struct control_application *application = seat->application;
    return application->terminated_there ? application->terminated_why : "";
}

static void application_seat_gone(struct seat *seat, bool claimed)
{
    if (claimed) {
        control_applications_open_again(seat->application->room);
    }
    control_application_drop(seat->application);
}

static const struct seat_events application_events = {.packet = application_packet,
                                                      .room = application_room,
                                                      .ended = application_seat_ended,
                                                      .began_ns = application_seat_began,
                                                      .terms = application_terms,
                                                      .reason = application_reason,
                                                      .gone = application_seat_gone};

/* The application has a use for each seat. */
static enum ga_status application_take(struct control_application *application,
                                       struct backend_process *process, struct seat **out)
{
    struct applications *room = application->room;
    const struct seat_application of = {.id = application->id,
                                        .address = application->address,
                                        .label = application->label,
                                        .program = application->program,
                                        .user = application->user,
                                        .host = application->host,
                                        .tls = application->tls,
                                        .tenant = application->tenant,
                                        .member = application->member,
                                        .owner = &application->owner,
                                        .shown = &application->shown,
                                        .counted = &application->counted};
    control_application_keep(application);
    enum ga_status status = seat_take(&room->seats, process, application, &of,
                                      room->conf->server.open_timeout_s, &application_events, out);
    if (status == GA_NO_MEMORY) {
        control_application_drop(application);
    }
    return status;
}

enum ga_status control_application_start(struct control_application *application,
                                         enum conf_driver driver, char *why, size_t why_size)
{
    struct applications *room = application->room;
    struct warm_pool *pool = &room->processes->warm_pools[driver];
    struct backend_process *process;
    struct seat *seat;
    enum ga_status status;
    bool last;
    do { /* a spare may be dying: then the next one */
        last = pool->count == 0;
        GA_TRY(warm_pool_take(pool, &process, why, why_size));
        status = application_take(application, process, &seat);
        if (status != GA_OK && backend_process_seats(process) == 0) {
            backend_process_end(process); /* it belongs to nobody */
        }
    } while (status != GA_OK && !last);
    if (status != GA_OK) {
        snprintf(why, why_size,
                 status == GA_NO_MEMORY ? "no memory"
                                        : "a backend process died while it was started");
        return status;
    }
    application->seats[driver] = seat;
    return GA_OK;
}

bool control_application_open_again(struct control_application *application)
{
    bool waits = false;
    ga_list_each (at, next, &application->clients) {
        const struct application_client *client = client_at(at);
        waits = waits || client->ops->waits_for_claims(client);
    }
    if (!waits) {
        return false;
    }
    control_application_keep(application);
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        struct seat *seat = application->seats[i];
        if (seat != NULL && seat->ready) {
            clients_answer(application, seat, 0, NULL);
        }
    }
    clients_flush(application);
    control_application_drop(application);
    return true;
}
