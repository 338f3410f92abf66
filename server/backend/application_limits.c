/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of an application's tenant: gpuaasd lends amounts, and times end the application. */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/backend/application.h"
#include "server/backend/backend.h"
#include "server/backend/control_request.h"

#define OVER_NS (500 * GA_NS_PER_MS) /* the notice of a limit is on its way */

/* The program waits for work, or bytes that a limit holds, or has called since the last look. */
static bool is_busy(struct application *application)
{
    uint64_t heard = atomic_load(&application->ledger.figures->of[FIGURE_FRAMES_IN]);
    bool busy = heard != application->heard_bytes ||
                atomic_load(&application->conn->completer.outstanding) != 0 ||
                send_queue_held_ns(&application->conn->out) != 0;
    application->heard_bytes = heard;
    return busy;
}

static bool is_over(const struct application *application, enum limit limit, uint64_t since,
                    uint64_t now)
{
    uint64_t most_ms = quota_limit_of(&application->quota, limit);
    return most_ms != LIMIT_NONE && now - since > most_ms * GA_NS_PER_MS;
}

/* By the side connection: a program that does not call reads no other. */
static void end_tell(struct application *application, const char *text)
{
    pthread_mutex_lock(&application->backend->ticket_lock);
    application->notice.notice = WIRE_NOTICE_END;
    snprintf(application->notice.text, sizeof application->notice.text, "%s", text);
    pthread_mutex_unlock(&application->backend->ticket_lock);
    atomic_store(&application->notified, true);
    application_notify(application);
}

/* Tells the application that it ends, and gives it a moment to read that. Then returns why it
 * ends. */
const char *application_life_turn(struct application *application)
{
    uint64_t now = ga_clock_ns(), began = application->identity.began_ns;
    began = began != 0 ? began : application->conn_since_ns;
    if (application->over_ns != 0) {
        return now > application->over_ns ? "a limit of its tenant ends it" : NULL;
    }
    application->heard_ns = is_busy(application) ? now : application->heard_ns;
    atomic_store_explicit(&application->ledger.figures->busy_at_ns, application->heard_ns,
                          memory_order_relaxed);
    bool wall = is_over(application, LIMIT_WALL_TIME, began, now);
    bool idle = is_over(application, LIMIT_IDLE_TIMEOUT, application->heard_ns, now);
    if (wall || idle) {
        enum limit limit = wall ? LIMIT_WALL_TIME : LIMIT_IDLE_TIMEOUT;
        char allowed[LIMITS_TEXT_MAX], whose[QUOTA_WHOSE_BYTES], text[WIRE_NOTICE_MAX + 1];
        limits_value_write(limit, quota_limit_of(&application->quota, limit), allowed);
        quota_whose(&application->quota, limit, whose);
        snprintf(text, sizeof text, "limit %s of %s: %s allowed, the time is up: the session ends",
                 limits_table[limit].key, whose, allowed);
        ga_warn("%s", text);
        end_tell(application, text);
        application->over_ns = now + OVER_NS;
    }
    return NULL;
}

static enum ga_status quota_host_ask(void *user, struct channel_request *packet)
{
    struct application *application = user;
    int fd = -1;
    packet->seat = application->seat;
    return control_request_ask(application->backend, packet, &fd);
}

static void quota_host_tell(void *user, const struct channel_request *packet)
{
    const struct application *application = user;
    (void)!outbox_send(application->backend, packet, sizeof *packet, -1); /* else it is gone */
}

void application_told(struct application *application, const struct channel_application *told)
{
    const struct quota_host host = {
        .user = application, .ask = quota_host_ask, .tell = quota_host_tell};
    application->identity = *told;
    quota_init(&application->quota, told, &host);
}
