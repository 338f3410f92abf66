/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clients/accept_pause.h"

#include "base/log.h"
#include "server/clients/client_limits.h"

#define ACCEPT_PAUSE_MS 200

void accept_pause_init(struct accept_pause *pause, struct clients *clients, uv_poll_t *poll,
                       uv_poll_cb readable)
{
    *pause = (struct accept_pause){.room = clients, .poll = poll, .readable = readable};
    (void)uv_timer_init(poll->loop, &pause->timer);
    uv_unref((uv_handle_t *)&pause->timer);
    pause->timer.data = pause;
}

static void accept_resume(uv_timer_t *timer)
{
    struct accept_pause *pause = timer->data;
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
        (void)uv_timer_start(&pause->timer, accept_resume, ACCEPT_PAUSE_MS, 0);
    }
}

void accept_pause_over(struct accept_pause *pause)
{
    pause->exhausted = false;
}

void accept_pause_fini(struct accept_pause *pause, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&pause->timer, closed);
}
