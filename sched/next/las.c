/* SPDX-License-Identifier: Apache-2.0 */
/* Least Attained Service (Strings IV-B1, Rain 4.2.1): the session with the least CGS gets a slice;
 * ties go to the one that has not been served for the longest time. CGS (history.h) is as of the
 * end of the last quantum: with the running quantum mixed in, LAS would be round robin.
 *
 * Between tenants (ours; the papers have none) the least CGS of all sessions of the tenant by its
 * weight decides, those that have left among them: new sessions have attained nothing, and a tenant
 * that opens one for each request would go before all others for ever.
 *
 * A session keeps its place while it pauses for less than hold_ns (ours).
 *
 * Reads: wants, busy, tenant, weight, attained service. Starvation: a session that gets nothing for
 * j quanta has 0.2^j of its CGS left, but with new short sessions without end it would wait for
 * ever; therefore it goes first when las_passed_max turns have passed it (ours; 0: never), so it
 * waits for at most so many slices, each with the operation that runs at its end, for each session
 * that waits so. Bad: for long requests under constant load.
 *
 * las_fcfs (ours): the tenant that has had the least by its weight (history.h), and of its sessions
 * the one that has joined first. Requests of one tenant that take turns all end late; one after the
 * other, most end earlier, and the last not later. Starvation: the same, with LAS_FCFS_TIMES as
 * many turns. Bad: for a tenant whose long requests come before short ones. */
#include "sched/history.h"
#include "sched/next/next.h"
#include "sched/turn.h"

/* Requests of seconds that are served first come, first served wait for seconds. */
#define LAS_FCFS_TIMES 10u

/* Whether so many turns have passed it that it goes first. */
static bool las_aged(const struct sched *sched, const struct sched_session *session, uint32_t times)
{
    uint64_t passed_max = (uint64_t)sched->settings.las_passed_max * times;
    return passed_max != 0 && session->passed >= passed_max;
}

/* -1: tenant a has less CGS by its weight; 1: b has. */
static int las_compare_tenants(const struct sched_tenant *a, const struct sched_tenant *b)
{
    double a_cgs = a->cgs / a->weight, b_cgs = b->cgs / b->weight;
    return (a_cgs > b_cgs) - (a_cgs < b_cgs);
}

/* Whether a goes before b. */
static bool las_before(const struct sched *sched, const struct sched_session *a,
                       const struct sched_session *b)
{
    const struct sched_tenant *a_tenant = &sched->tenants[a->tenant];
    const struct sched_tenant *b_tenant = &sched->tenants[b->tenant];
    bool a_aged = las_aged(sched, a, 1);
    if (a_aged != las_aged(sched, b, 1)) {
        return a_aged;
    }
    if (a_aged) {
        return sched_turn_longer_ago(a, b);
    }
    if (a_tenant != b_tenant) {
        int compared = las_compare_tenants(a_tenant, b_tenant);
        if (compared != 0 || a_tenant->order != b_tenant->order) {
            return compared != 0 ? compared < 0 : a_tenant->order < b_tenant->order;
        }
    } else if (a->cgs < b->cgs || a->cgs > b->cgs) {
        return a->cgs < b->cgs;
    }
    return sched_turn_longer_ago(a, b);
}

static bool las_fcfs_before(const struct sched *sched, const struct sched_session *a,
                            const struct sched_session *b)
{
    const struct sched_tenant *a_tenant = &sched->tenants[a->tenant];
    const struct sched_tenant *b_tenant = &sched->tenants[b->tenant];
    bool a_aged = las_aged(sched, a, LAS_FCFS_TIMES);
    if (a_aged != las_aged(sched, b, LAS_FCFS_TIMES)) {
        return a_aged;
    }
    if (a_aged) {
        return sched_turn_longer_ago(a, b);
    }
    if (a_tenant == b_tenant) {
        return a->joined_order < b->joined_order;
    }
    int compared = sched_history_compare(a_tenant, b_tenant);
    return compared != 0 ? compared < 0 : a_tenant->order < b_tenant->order;
}

static void las_decide(struct sched *sched, uint64_t now)
{
    sched_turn_by_order(sched, las_before, now);
}

static void las_fcfs_decide(struct sched *sched, uint64_t now)
{
    sched_turn_by_order(sched, las_fcfs_before, now);
}

const struct sched_policy sched_policy_las = {
    .name = "las",
    .summary = "least attained service: the session that has used the GPU least goes first",
    .uses = SCHED_USES_LAS,
    .anticipates = true,
    .begin = sched_turn_reset,
    .decide = las_decide,
    .charge = sched_turn_charge,
    .leave = sched_turn_leave,
};

const struct sched_policy sched_policy_las_fcfs = {
    .name = "las_fcfs",
    .summary =
        "the tenant that has used the GPU least goes first, its oldest session before others",
    .uses = SCHED_USES_LAS,
    .begin = sched_turn_reset,
    .decide = las_fcfs_decide,
    .charge = sched_turn_charge,
    .leave = sched_turn_leave,
};
