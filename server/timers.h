/* SPDX-License-Identifier: Apache-2.0 */
/* The time of gpuaasd's rooms, and their timers. Rooms ask for the time and start timers here; what
 * time is, and what waits until the next timer is due, its host says: the loop of gpuaasd
 * (server/gpuaasd/loop_timers.h), or a test.
 *
 * Two clocks never go back. `timers_now` is the clock of the machine: what rooms book, and promise.
 * Timers are due by awake time, which goes on only while the host goes round, by at most
 * TIMERS_TURN_NS in a turn: while gpuaasd stood still (SIGSTOP, a suspended machine, a long write),
 * it has read nothing, so that what others have answered in time is not late for it. A deadline of
 * others' answers that a room keeps itself is by `timers_awake`.
 *
 * Timers are in a pairing heap (Fredman et al., 1986), and need no memory but their own.
 *
 * Note: a timer is called by timers_run alone, never by the function that starts it. */
#ifndef SERVER_TIMERS_H
#define SERVER_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

/* An eighth of the shortest time that others are given (2 s). The host wakes twice as often while a
 * timer runs, so that it is not taken for standing still when it only gets a processor late. */
#define TIMERS_TURN_NS UINT64_C(250000000)
#define TIMERS_WAKE_NS (TIMERS_TURN_NS / 2)

struct server_timer;
struct server_timers;

struct timers_host {
    uint64_t (*now_ns)(const struct server_timers *timers);
    uint64_t (*wall_ns)(const struct server_timers *timers);
    /* timers_run is to be called at this time, and may be before (UINT64_MAX: there is no timer).
     * The host reads all that has come before it calls it. */
    void (*next)(struct server_timers *timers, uint64_t at_ns);
};

struct server_timers {
    const struct timers_host *host;
    struct server_timer *first; /* the root of the heap; NULL: there is none */
    uint64_t started;           /* so many have been */
    uint64_t turn_ns, awake_ns; /* both times, when timers_run was last called */
    bool running;
};

/* All zeros: it does not run. It may be started again, stopped and freed in its own `due`. */
struct server_timer {
    void (*due)(struct server_timer *timer);
    struct server_timer *child, *next; /* in the heap: the first below it; the one beside it */
    struct server_timer *before;       /* the one beside it, or above it if it is the first there */
    uint64_t at_ns, every_ns;          /* of awake time; every_ns 0: once */
    uint64_t order;                    /* of two that are due at once, the one started first */
    bool runs;
};

void timers_init(struct server_timers *timers, const struct timers_host *host);
uint64_t timers_now(const struct server_timers *timers);
uint64_t timers_awake(const struct server_timers *timers);
/* The time of day, since 1970 (UTC): of what people and the store call a time. It may be set. */
uint64_t timers_wall_ns(const struct server_timers *timers);
int64_t timers_wall_s(const struct server_timers *timers);
/* `due` is called after so many milliseconds, and every so many (0: once); as it is now if the
 * timer runs already. */
void timers_start(struct server_timers *timers, struct server_timer *timer,
                  void (*due)(struct server_timer *timer), uint64_t after_ms, uint64_t every_ms);
/* Any number of times. */
void timers_stop(struct server_timers *timers, struct server_timer *timer);
/* Calls those that are due now, and were started before; the earliest first. */
void timers_run(struct server_timers *timers);

#endif
