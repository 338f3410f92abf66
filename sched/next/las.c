/* SPDX-License-Identifier: Apache-2.0 */
/* Least Attained Service (Strings IV-B1, Rain 4.2.1): the session with the least CGS gets a slice;
 * ties go to the one that has not been served for the longest time. CGS (history.h) is as of the
 * end of the last quantum: with the running quantum mixed in, LAS would be round robin.
 *
 * Reads: wants, busy, attained service. Starvation: a session that gets nothing for j quanta has
 * 0.2^j of its CGS left, but with new short sessions without end it would wait for ever; therefore
 * it goes first when las_passed_max turns have passed it (ours; 0: never), so it waits for at most
 * so many slices, each with the operation that runs at its end, for each session that waits so.
 * Bad: for long requests under constant load, for fairness between tenants. */
#include "sched/next/next.h"
#include "sched/turn.h"

/* Whether a goes before b. */
static bool las_before(const struct sched *sched, const struct sched_session *a,
                       const struct sched_session *b)
{
    uint32_t passed_max = sched->settings.las_passed_max;
    bool a_aged = passed_max != 0 && a->passed >= passed_max;
    bool b_aged = passed_max != 0 && b->passed >= passed_max;
    if (a_aged != b_aged) {
        return a_aged;
    }
    if (!a_aged && (a->cgs < b->cgs || a->cgs > b->cgs)) {
        return a->cgs < b->cgs;
    }
    return sched_turn_longer_ago(a, b);
}

static void las_decide(struct sched *sched, uint64_t now)
{
    sched_turn_by_order(sched, las_before, now);
}

const struct sched_policy sched_policy_las = {
    .name = "las",
    .summary = "least attained service: who has used the GPU least goes first",
    .begin = sched_turn_reset,
    .decide = las_decide,
    .charge = sched_turn_charge,
    .leave = sched_turn_leave,
};
