/* SPDX-License-Identifier: Apache-2.0 */
/* Round robin: the session that has not been served for the longest time gets a slice. The baseline
 * of the device policies, not a policy of the papers.
 *
 * A new session begins at the place of its tenant: first, if that has never been served.
 *
 * Reads: wants, busy, tenant. Starvation: none; with n sessions one waits for at most n +
 * passed_max turns, each of a slice and the operation that runs at its end: when passed_max turns
 * have passed it, new ones no longer go first. Bad: for fairness between tenants (a tenant that
 * opens more sessions gets more, and long operations overshoot unpunished), for short requests. */
#include "sched/next/next.h"
#include "sched/turn.h"

static bool rr_before(const struct sched *sched, const struct sched_session *a,
                      const struct sched_session *b)
{
    uint32_t passed_max = sched->settings.passed_max;
    if (a->passed != b->passed && (a->passed >= passed_max || b->passed >= passed_max)) {
        return a->passed > b->passed;
    }
    return sched_turn_longer_ago(a, b);
}

static void rr_decide(struct sched *sched, uint64_t now)
{
    sched_turn_by_order(sched, rr_before, now);
}

const struct sched_policy sched_policy_rr = {
    .name = "rr",
    .summary = "round robin: one session at a time, in turns of a slice",
    .uses = SCHED_USES_HOLD | SCHED_USES(SLICE) | SCHED_USES(PASSED_MAX),
    .begin = sched_turn_reset,
    .decide = rr_decide,
    .charge = sched_turn_charge,
    .leave = sched_turn_leave,
};
