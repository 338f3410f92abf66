/* SPDX-License-Identifier: Apache-2.0 */
/* The time of gpuaasd's rooms, and their timers. Rooms ask for the time and start timers here; what
 * time is, and what waits until the next timer is due, its host says: the loop of gpuaasd
 * (server/gpuaasd/loop_timers.h), or a test.
 *
 * Timers are in a pairing heap (Fredman et al., 1986), and need no memory but their own.
 *
 * Note: a timer is called by timers_run alone, never by the function that starts it. */
#ifndef SERVER_TIMERS_H
#define SERVER_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct server_timer;
struct server_timers;

struct timers_host {
    uint64_t (*now_ns)(const struct server_timers *timers);
    /* From now on the next timer is due at this time (UINT64_MAX: there is none): then timers_run
     * is to be called. */
    void (*next)(struct server_timers *timers, uint64_t at_ns);
};

struct server_timers {
    const struct timers_host *host;
    struct server_timer *first; /* the root of the heap; NULL: there is none */
    uint64_t started;           /* so many have been */
    bool running;
};

/* All zeros: it does not run. It may be started again, stopped and freed in its own `due`. */
struct server_timer {
    void (*due)(struct server_timer *timer);
    struct server_timer *child, *next; /* in the heap: the first below it; the one beside it */
    struct server_timer *before;       /* the one beside it, or above it if it is the first there */
    uint64_t at_ns, every_ns;          /* every_ns 0: once */
    uint64_t order;                    /* of two that are due at once, the one started first */
    bool runs;
};

void timers_init(struct server_timers *timers, const struct timers_host *host);
uint64_t timers_now(const struct server_timers *timers);
/* `due` is called after so many milliseconds, and every so many (0: once); as it is now if the
 * timer runs already. */
void timers_start(struct server_timers *timers, struct server_timer *timer,
                  void (*due)(struct server_timer *timer), uint64_t after_ms, uint64_t every_ms);
/* Any number of times. */
void timers_stop(struct server_timers *timers, struct server_timer *timer);
/* Calls those that are due now, and were started before; the earliest first. */
void timers_run(struct server_timers *timers);

#endif
