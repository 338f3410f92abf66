/* SPDX-License-Identifier: Apache-2.0 */
#include "server/pipeline/send_rate.h"

#include "base/clock.h"

#define AHEAD_NS (GA_NS_PER_S / 40) /* bytes go in parts of so much time: not one by one */
#define LOOK_NS  (GA_NS_PER_S / 20) /* who waits looks so often whether the limit has changed */

/* Whether there is a limit, whose rate is then up to date. */
static bool rate_look(struct send_rate *limit, const struct ledger *ledger, uint64_t *now)
{
    const struct quota *quota = ledger->quota;
    struct rate *rate = &limit->rate;
    if (quota == NULL || limit->lifted) {
        return false;
    }
    uint32_t turn = quota_turn(quota);
    if (turn == limit->seen && rate->per_second == LIMIT_NONE) {
        return false;
    }
    *now = ga_clock_ns();
    if (turn != limit->seen) {
        limit->seen = turn;
        rate_change(rate, quota_limit_of(quota, LIMIT_BANDWIDTH_OUT), figures_out(ledger->figures),
                    *now);
    }
    (void)rate_count(rate, figures_out(ledger->figures), *now);
    return rate->per_second != LIMIT_NONE;
}

uint64_t send_rate_room(struct send_rate *limit, const struct ledger *ledger)
{
    uint64_t now;
    limit->held_ns = 0;
    if (!rate_look(limit, ledger, &now)) {
        return UINT64_MAX;
    }
    if (limit->rate.due_ns > now + AHEAD_NS) {
        limit->held_ns = limit->rate.due_ns - AHEAD_NS;
        ledger_rate_waits(ledger);
        return 0;
    }
    return limit->rate.free != 0 ? limit->rate.free : 1;
}

static uint64_t until(uint64_t time, uint64_t now)
{
    uint64_t left = time > now ? time - now : 0;
    return left < LOOK_NS ? left : LOOK_NS;
}

uint64_t send_rate_early_ns(struct send_rate *limit, const struct ledger *ledger)
{
    uint64_t now;
    uint64_t early_ns = rate_look(limit, ledger, &now) ? until(limit->rate.due_ns, now) : 0;
    if (early_ns != 0) {
        ledger_rate_waits(ledger);
    }
    return early_ns;
}

uint64_t send_rate_held_ns(const struct send_rate *limit)
{
    return limit->held_ns != 0 ? until(limit->held_ns, ga_clock_ns()) : 0;
}
