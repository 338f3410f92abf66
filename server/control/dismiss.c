/* SPDX-License-Identifier: Apache-2.0 */
/* Note: a program is told first, and ends its connections by itself; one that does not is ended a
 * moment later. If they ended at once, it might notice that before it has read why. */
#include "server/control/dismiss.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/control/application.h"
#include "server/control/applications.h"
#include "server/seats/seat.h"

#define TURN_MS     100
#define SESSIONS_NS (1500 * GA_NS_PER_MS) /* until its backend processes end */
#define CONTROL_NS  (2 * GA_NS_PER_S)     /* and its control connections */

static void dismiss_send(struct control_application *application, uint32_t notice, const char *text)
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

void dismiss_note(struct control_application *application, const char *text)
{
    dismiss_send(application, WIRE_NOTICE_NOTE, text);
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

static void dismiss_turn(uv_timer_t *timer)
{
    struct applications *room = timer->data;
    uint64_t now_ns = ga_clock_ns();
    bool any = false;
    ga_list_each (at, next, &room->all) {
        struct control_application *application =
            ga_container(at, struct control_application, link);
        if (application->dismissed_ns == 0) {
            continue;
        }
        any = true;
        if (now_ns - application->dismissed_ns >= SESSIONS_NS) {
            sessions_end(application);
        }
        if (now_ns - application->dismissed_ns >= CONTROL_NS) {
            connections_end(application);
        }
    }
    if (!any) {
        (void)uv_timer_stop(timer);
    }
}

void dismiss_application(struct control_application *application, enum application_closes closes,
                         int32_t result, const char *why)
{
    struct applications *room = application->room;
    if (application->dismissed_ns != 0) {
        return;
    }
    ga_warn_of(application->address, "%s: ended: %s", application->label, why);
    application->dismissed_ns = ga_clock_ns();
    application->closes = closes;
    application->dismissed_result = result;
    snprintf(application->dismissed_why, sizeof application->dismissed_why, "%s", why);
    dismiss_send(application, WIRE_NOTICE_END, why);
    (void)uv_timer_start(&room->dismissals, dismiss_turn, TURN_MS, TURN_MS);
}

void dismiss_init(struct applications *room)
{
    room->dismissals.data = room;
    (void)uv_timer_init(room->loop, &room->dismissals);
    uv_unref((uv_handle_t *)&room->dismissals);
}

void dismiss_fini(struct applications *room)
{
    uv_close((uv_handle_t *)&room->dismissals, NULL);
}
