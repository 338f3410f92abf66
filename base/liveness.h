/* SPDX-License-Identifier: Apache-2.0 */
/* Liveness of a peer, judged by what has been heard from it. A pure computation: time is an
 * argument.
 *
 * Each end asks on its own: after an interval of silence it pings, and the other end answers.
 *
 * Note: silence is not the time since the peer was heard, but the time during which we listened.
 * A late look counts no more than a punctual one, so a process that was stopped itself does not
 * take its own absence for the peer's. */
#ifndef BASE_LIVENESS_H
#define BASE_LIVENESS_H

#include <stdint.h>

#define GA_LIVENESS_INTERVALS 15u /* unanswered pings until the peer counts as dead */

enum ga_liveness_answer { GA_LIVENESS_FINE, GA_LIVENESS_PING, GA_LIVENESS_DEAD };

struct ga_liveness {
    uint64_t dead_after_ns;
    uint64_t looked_ns; /* at the last look */
    uint64_t silent_ns; /* the peer has been silent for so long */
    uint64_t pinged_ns;
};

static inline uint64_t ga_liveness_interval_ns(const struct ga_liveness *liveness)
{
    return liveness->dead_after_ns / GA_LIVENESS_INTERVALS;
}

static inline void ga_liveness_init(struct ga_liveness *liveness, uint64_t dead_after_ns,
                                    uint64_t now_ns)
{
    *liveness = (struct ga_liveness){
        .dead_after_ns = dead_after_ns, .looked_ns = now_ns, .pinged_ns = now_ns};
}

static inline void ga_liveness_heard(struct ga_liveness *liveness)
{
    liveness->silent_ns = 0;
}

/* To be called at least once an interval. */
static inline enum ga_liveness_answer ga_liveness_look(struct ga_liveness *liveness,
                                                       uint64_t now_ns)
{
    uint64_t interval = ga_liveness_interval_ns(liveness);
    uint64_t step = now_ns - liveness->looked_ns;
    liveness->looked_ns = now_ns;
    liveness->silent_ns += step < 2 * interval ? step : 2 * interval;
    if (liveness->silent_ns > liveness->dead_after_ns) {
        return GA_LIVENESS_DEAD;
    }
    if (liveness->silent_ns < interval || now_ns - liveness->pinged_ns < interval) {
        return GA_LIVENESS_FINE;
    }
    liveness->pinged_ns = now_ns;
    return GA_LIVENESS_PING;
}

#endif
