/* SPDX-License-Identifier: Apache-2.0 */
#include "server/charge/rate.h"

#include <stdbool.h>

#include "base/clock.h"

#define BURST_NS     (GA_NS_PER_S / 10)
#define AHEAD_NS_MAX (1000000 * GA_NS_PER_S) /* some days: a sum of it and a time is a time */

/* How many may come until the half of the burst is used up. */
static uint64_t free_until_half(const struct rate *rate, uint64_t now)
{
    const uint64_t half = now + BURST_NS / 2;
    return rate->due_ns < half ? (uint64_t)((double)(half - rate->due_ns) *
                                            (double)rate->per_second / (double)GA_NS_PER_S)
                               : 0;
}

uint64_t rate_count(struct rate *rate, uint64_t now_count, uint64_t now)
{
    uint64_t more = now_count - rate->counted;
    rate->counted = now_count;
    rate->free = UINT64_MAX;
    rate->due_ns = rate->due_ns > now ? rate->due_ns : now;
    if (rate->per_second != UINT64_MAX && rate->per_second != 0) {
        rate->due_ns += more / rate->per_second * GA_NS_PER_S +
                        (uint64_t)((double)(more % rate->per_second) * (double)GA_NS_PER_S /
                                   (double)rate->per_second);
        rate->free = free_until_half(rate, now);
    }
    return rate->due_ns > BURST_NS ? rate->due_ns - BURST_NS : 0;
}

void rate_change(struct rate *rate, uint64_t per_second, uint64_t now_count, uint64_t now)
{
    bool was = rate->per_second != UINT64_MAX && rate->per_second != 0;
    (void)rate_count(rate, now_count, now);
    double ahead_ns =
        was ? (double)(rate->due_ns - now) * (double)rate->per_second / (double)per_second : 0;
    rate->due_ns = now + (ahead_ns < (double)AHEAD_NS_MAX ? (uint64_t)ahead_ns : AHEAD_NS_MAX);
    rate->per_second = per_second;
    rate->free = 0;
}
