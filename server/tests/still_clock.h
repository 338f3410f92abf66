/* SPDX-License-Identifier: Apache-2.0 */
/* A clock for tests, which stands still until they move it, and the timers that go by it. */
#ifndef SERVER_TESTS_STILL_CLOCK_H
#define SERVER_TESTS_STILL_CLOCK_H

#include "base/clock.h"
#include "base/list.h"
#include "server/timers.h"

struct still_clock {
    struct server_timers timers;
    uint64_t now_ns;
    uint64_t next_ns; /* when the next timer is due, as the host has been told */
};

static inline uint64_t still_clock_now(const struct server_timers *timers)
{
    return ga_container(timers, const struct still_clock, timers)->now_ns;
}

static inline void still_clock_next(struct server_timers *timers, uint64_t at_ns)
{
    ga_container(timers, struct still_clock, timers)->next_ns = at_ns;
}

static inline void still_clock_init(struct still_clock *clock)
{
    static const struct timers_host host = {.now_ns = still_clock_now, .next = still_clock_next};
    timers_init(&clock->timers, &host);
    clock->now_ns = 7 * GA_NS_PER_S;
    clock->next_ns = UINT64_MAX;
}

/* Lets time pass at once, and calls the timers that are due then. */
static inline void still_clock_pass(struct still_clock *clock, uint64_t ms)
{
    clock->now_ns += ms * GA_NS_PER_MS;
    timers_run(&clock->timers);
}

#endif
