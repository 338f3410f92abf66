/* SPDX-License-Identifier: Apache-2.0 */
/* A clock for tests, which stands still until they move it, and the timers that go by it. */
#ifndef SERVER_TESTS_STILL_CLOCK_H
#define SERVER_TESTS_STILL_CLOCK_H

#include <time.h>

#include "base/clock.h"
#include "base/list.h"
#include "server/timers.h"

struct still_clock {
    struct server_timers timers;
    uint64_t now_ns;
    uint64_t born_ns; /* the time of day at 0: what the store believes is now began then */
    uint64_t next_ns; /* when the next timer is due, as the host has been told */
};

static inline uint64_t still_clock_now(const struct server_timers *timers)
{
    return ga_container(timers, const struct still_clock, timers)->now_ns;
}

static inline uint64_t still_clock_wall(const struct server_timers *timers)
{
    const struct still_clock *clock = ga_container(timers, const struct still_clock, timers);
    return clock->born_ns + clock->now_ns;
}

static inline void still_clock_next(struct server_timers *timers, uint64_t at_ns)
{
    ga_container(timers, struct still_clock, timers)->next_ns = at_ns;
}

static inline void still_clock_init_at(struct still_clock *clock, uint64_t now_ns)
{
    static const struct timers_host host = {
        .now_ns = still_clock_now, .wall_ns = still_clock_wall, .next = still_clock_next};
    clock->now_ns = now_ns;
    clock->born_ns = (uint64_t)time(NULL) * GA_NS_PER_S - now_ns;
    timers_init(&clock->timers, &host);
    clock->next_ns = UINT64_MAX;
}

static inline void still_clock_init(struct still_clock *clock)
{
    still_clock_init_at(clock, 7 * GA_NS_PER_S);
}

/* Time passes while the host stands still; it turns once then. */
static inline void still_clock_stall(struct still_clock *clock, uint64_t ms)
{
    clock->now_ns += ms * GA_NS_PER_MS;
    timers_run(&clock->timers);
}

/* Lets time pass, in as few turns as the host would have without timers, and calls those that are
 * due in each. */
static inline void still_clock_pass(struct still_clock *clock, uint64_t ms)
{
    const uint64_t turn_ms = TIMERS_TURN_NS / GA_NS_PER_MS;
    for (; ms > turn_ms; ms -= turn_ms) {
        still_clock_stall(clock, turn_ms);
    }
    still_clock_stall(clock, ms);
}

#endif
