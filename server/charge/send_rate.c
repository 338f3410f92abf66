/* SPDX-License-Identifier: Apache-2.0 */
#include "server/charge/send_rate.h"

#include "base/clock.h"

#define AHEAD_NS (GA_NS_PER_S / 40) /* bytes go in parts of so much time: not one by one */
/* The part of a second by which a look comes before rate_count is out of bytes: a program that has
 * been below the limit is ahead by less than AHEAD_NS then, and by half of it before it sends. */
#define LOOK_PART 26u
#define LOOK_NS   (GA_NS_PER_S / 20) /* who waits looks so often whether the limit has changed */

/* How many may be sent, as far as that is known without a look at the clock; UINT64_MAX: there is
 * no limit. 0: it takes a look, which holds nobody who has been below the limit since the last one.
 */
static uint64_t room_known(const struct send_rate *limit, const struct ledger *ledger)
{
    const struct quota *quota = ledger->quota;
    if (quota == NULL || limit->lifted) {
        return UINT64_MAX;
    }
    if (quota_turn(quota) != limit->seen) {
        return 0;
    }
    if (limit->rate.per_second == LIMIT_NONE) {
        return UINT64_MAX;
    }
    uint64_t more = figures_out(ledger->figures) - limit->rate.counted;
    bool known = more + limit->rate.per_second / LOOK_PART < limit->rate.free;
    return known ? limit->rate.free - more : 0;
}

/* Counts what has been sent, by the limit as it is now. Returns the time. */
static uint64_t rate_look(struct send_rate *limit, const struct ledger *ledger)
{
    const struct quota *quota = ledger->quota;
    uint32_t turn = quota_turn(quota);
    uint64_t now = ga_clock_ns();
    if (turn != limit->seen) {
        limit->seen = turn;
        rate_change(&limit->rate, quota_limit_of(quota, LIMIT_BANDWIDTH_OUT),
                    figures_out(ledger->figures), now);
    }
    (void)rate_count(&limit->rate, figures_out(ledger->figures), now);
    return now;
}

uint64_t send_rate_room(struct send_rate *limit, const struct ledger *ledger)
{
    uint64_t room = room_known(limit, ledger);
    limit->held_ns = 0;
    if (room != 0) {
        return room;
    }
    uint64_t now = rate_look(limit, ledger);
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
    if (room_known(limit, ledger) != 0) {
        return 0;
    }
    uint64_t now = rate_look(limit, ledger);
    if (limit->rate.due_ns <= now + AHEAD_NS) {
        return 0;
    }
    ledger_rate_waits(ledger);
    return until(limit->rate.due_ns, now);
}

uint64_t send_rate_held_ns(const struct send_rate *limit)
{
    return limit->held_ns != 0 ? until(limit->held_ns, ga_clock_ns()) : 0;
}
