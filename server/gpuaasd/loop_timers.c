/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gpuaasd/loop_timers.h"

#include "base/clock.h"
#include "base/list.h"

static uint64_t loop_now(const struct server_timers *timers)
{
    (void)timers;
    return ga_clock_ns();
}

/* The loop's own time lags a little: timers_run is then called too early, and the loop is told
 * again. */
static void loop_due(uv_timer_t *next)
{
    timers_run(next->data);
}

static void loop_next(struct server_timers *timers, uint64_t at_ns)
{
    uv_timer_t *next = &ga_container(timers, struct loop_timers, timers)->next;
    uint64_t now_ns = ga_clock_ns();
    uint64_t left_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    if (at_ns == UINT64_MAX) {
        (void)uv_timer_stop(next);
    } else {
        (void)uv_timer_start(next, loop_due, (left_ns + GA_NS_PER_MS - 1) / GA_NS_PER_MS, 0);
    }
}

void loop_timers_init(struct loop_timers *loop_timers, uv_loop_t *loop)
{
    static const struct timers_host host = {.now_ns = loop_now, .next = loop_next};
    timers_init(&loop_timers->timers, &host);
    (void)uv_timer_init(loop, &loop_timers->next);
    uv_unref((uv_handle_t *)&loop_timers->next);
    loop_timers->next.data = &loop_timers->timers;
}

void loop_timers_fini(struct loop_timers *loop_timers)
{
    timers_run(&loop_timers->timers);
    uv_close((uv_handle_t *)&loop_timers->next, NULL);
}
