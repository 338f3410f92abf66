/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gpuaasd/loop_timers.h"

#include <time.h>

#include "base/clock.h"
#include "base/list.h"

static uint64_t loop_now(const struct server_timers *timers)
{
    (void)timers;
    return ga_clock_ns();
}

static uint64_t loop_wall(const struct server_timers *timers)
{
    struct timespec now;
    (void)timers;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * GA_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void loop_at_once(uv_idle_t *at_once)
{
    (void)at_once; /* that it runs keeps the loop from waiting */
}

/* The loop polls next, and then calls loop_turned. */
static void loop_due(uv_timer_t *next)
{
    (void)uv_idle_start(&ga_container(next, struct loop_timers, next)->at_once, loop_at_once);
}

/* The loop's own time lags a little: timers_run may be called too early, and tells it again. */
static void loop_next(struct server_timers *timers, uint64_t at_ns)
{
    struct loop_timers *loop_timers = ga_container(timers, struct loop_timers, timers);
    uint64_t now_ns = ga_clock_ns();
    (void)uv_idle_stop(&loop_timers->at_once);
    if (at_ns == UINT64_MAX) {
        (void)uv_timer_stop(&loop_timers->next);
    } else if (at_ns <= now_ns) {
        (void)uv_idle_start(&loop_timers->at_once, loop_at_once);
    } else {
        uint64_t wait_ms = (at_ns - now_ns + GA_NS_PER_MS - 1) / GA_NS_PER_MS;
        (void)uv_timer_start(&loop_timers->next, loop_due, wait_ms, 0);
    }
}

static void loop_turned(uv_check_t *turn)
{
    timers_run(&ga_container(turn, struct loop_timers, turn)->timers);
}

void loop_timers_init(struct loop_timers *loop_timers, uv_loop_t *loop)
{
    static const struct timers_host host = {
        .now_ns = loop_now, .wall_ns = loop_wall, .next = loop_next};
    timers_init(&loop_timers->timers, &host);
    (void)uv_timer_init(loop, &loop_timers->next);
    (void)uv_idle_init(loop, &loop_timers->at_once);
    (void)uv_check_init(loop, &loop_timers->turn);
    (void)uv_check_start(&loop_timers->turn, loop_turned);
    uv_unref((uv_handle_t *)&loop_timers->next);
    uv_unref((uv_handle_t *)&loop_timers->at_once);
    uv_unref((uv_handle_t *)&loop_timers->turn);
}

void loop_timers_fini(struct loop_timers *loop_timers)
{
    timers_run(&loop_timers->timers);
    uv_close((uv_handle_t *)&loop_timers->next, NULL);
    uv_close((uv_handle_t *)&loop_timers->at_once, NULL);
    uv_close((uv_handle_t *)&loop_timers->turn, NULL);
}
