/* SPDX-License-Identifier: Apache-2.0 */
/* Note: a program is told first, and ends its connections by itself; one that does not is ended a
 * moment later. If they ended at once, it might notice that before it has read why. */
#include "server/applications/terminate.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/applications/application.h"
#include "server/applications/applications.h"
#include "server/seats/seat.h"

#define TURN_MS     100
#define SESSIONS_NS (1500 * GA_NS_PER_MS) /* until its backend processes end */
#define CONTROL_NS  (2 * GA_NS_PER_S)     /* and its control connections */

static void terminate_send(struct control_application *application, uint32_t notice,
                           const char *text)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        struct seat *seat = application->seats[i];
        if (seat != NULL) {
            struct channel_notice packet = {
                .kind = CHANNEL_NOTICE, .seat = seat->number, .notice = notice};
            snprintf(packet.text, sizeof packet.text, "%s", text);
            (void)!seat_tell(seat, &packet, sizeof packet); /* else it is told nothing */
        }
    }
}

void application_notice(struct control_application *application, const char *text)
{
    terminate_send(application, WIRE_NOTICE_NOTE, text);
}

static void sessions_end(struct control_application *application)
{
    for (unsigned i = 0; i < DEVICES_DRIVERS; i++) {
        if (application->seats[i] != NULL) {
            control_application_abandon(application, application->seats[i]);
        }
    }
}

/* With the last one the application ends, too, unless it has none any more. */
static void connections_end(struct control_application *application)
{
    control_application_keep(application);
    ga_list_each (at, next, &application->clients) {
        struct application_client *client = ga_container(at, struct application_client, beside);
        client->ops->close(client);
    }
    control_application_end(application);
    control_application_drop(application);
}

/* The program is there: it does not end by itself. */
static void terminate_hold(struct control_application *application)
{
    ga_warn_of(application->address, "%s: ended: %s", application->label,
               application->terminated_why);
    application->closes = application->terminated_closes;
    application->terminated_there = true;
}

void terminate_found(struct control_application *application)
{
    if (application->terminated_ns != 0) {
        terminate_hold(application);
    }
}

static void terminate_turn(struct server_timer *timer)
{
    struct applications *room = ga_container(timer, struct applications, terminations);
    uint64_t now_ns = timers_awake(room->timers);
    bool any = false;
    ga_list_each (at, next, &room->all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (application->terminated_ns == 0) {
            continue;
        }
        any = true;
        if (now_ns - application->terminated_ns >= SESSIONS_NS) {
            if (control_application_seems_gone(
                    application)) { /* its process has not gone with it */
                application->alone_told = true;
                terminate_hold(application);
            }
            sessions_end(application);
        }
        if (now_ns - application->terminated_ns >= CONTROL_NS) {
            connections_end(application);
        }
    }
    if (!any) {
        timers_stop(room->timers, timer);
    }
}

void terminate_application(struct control_application *application, enum application_closes closes,
                           int32_t result, const char *why)
{
    struct applications *room = application->room;
    if (application->terminated_ns != 0) {
        return;
    }
    application->terminated_ns = timers_awake(room->timers);
    application->terminated_closes = closes;
    application->terminated_result = result;
    snprintf(application->terminated_why, sizeof application->terminated_why, "%s", why);
    if (!control_application_seems_gone(application)) {
        terminate_hold(application);
    }
    terminate_send(application, WIRE_NOTICE_END, why);
    timers_start(room->timers, &room->terminations, terminate_turn, TURN_MS, TURN_MS);
}

void terminate_fini(struct applications *room)
{
    timers_stop(room->timers, &room->terminations);
}
