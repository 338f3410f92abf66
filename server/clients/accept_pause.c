/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clients/accept_pause.h"

#include "base/list.h"
#include "base/log.h"
#include "server/clients/client_limits.h"
#include "server/clients/clients.h"

#define ACCEPT_PAUSE_MS 200

void accept_pause_init(struct accept_pause *pause, struct clients *clients, uv_poll_t *poll,
                       uv_poll_cb readable)
{
    *pause = (struct accept_pause){.room = clients, .poll = poll, .readable = readable};
}

static void accept_resume(struct server_timer *timer)
{
    struct accept_pause *pause = ga_container(timer, struct accept_pause, timer);
    (void)uv_poll_start(pause->poll, UV_READABLE, pause->readable);
}

void accept_pause_begin(struct accept_pause *pause, const char *where)
{
    if (!pause->exhausted) {
        ga_warn("cannot accept connections on %s for now: no descriptors or memory left", where);
    }
    pause->exhausted = true; /* told once, not five times a second */
    if (!client_limits_relieve(pause->room)) {
        (void)uv_poll_stop(pause->poll);
        timers_start(pause->room->timers, &pause->timer, accept_resume, ACCEPT_PAUSE_MS, 0);
    }
}

void accept_pause_over(struct accept_pause *pause)
{
    pause->exhausted = false;
}

void accept_pause_fini(struct accept_pause *pause)
{
    timers_stop(pause->room->timers, &pause->timer);
}
