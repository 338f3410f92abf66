/* SPDX-License-Identifier: Apache-2.0 */
/* True Fair Share (Strings IV-B2, Rain 4.2.2): one session awake at a time, for a part of the epoch
 * proportional to the weight of its tenant; overshoot is charged to the following epochs (epoch.h).
 * Debts survive inactivity; there is no credit.
 *
 * Bound: a tenant that always has work has attained, after n epochs, n times its part, give or take
 * less than its own longest operation.
 *
 * Reads: wants, busy, tenant, weight, attained service. Starvation: none; a tenant waits for at
 * most an epoch and one operation of each other tenant, and until its own debt is paid. Bad: for
 * throughput (engines that the session awake does not use stand idle), and for programs that pause
 * for longer than `hold` between operations: they get one operation in a turn. */
#include "sched/epoch.h"
#include "sched/next/next.h"
#include "sched/turn.h"

static void tfs_decide(struct sched *sched, uint64_t now)
{
    sched_epoch_decide(sched, true, now);
}

/* Usage that is reported after the end of a turn was not in its account. */
static void tfs_charge(struct sched *sched, uint32_t slot, enum gpu_engine engine, uint64_t used_ns,
                       uint64_t now)
{
    if (slot == sched->turn.slot) {
        sched_turn_charge(sched, slot, engine, used_ns, now);
    } else if (sched->kept_tenant != SCHED_NONE) {
        sched->tenants[sched->sessions[slot].tenant].debt += (double)used_ns;
    }
}

const struct sched_policy sched_policy_tfs = {
    .name = "tfs",
    .summary = "true fair share: turns by the tenants' weights; overshoot is paid back",
    .uses = SCHED_USES_HOLD | SCHED_USES(SHARE),
    .tenant_bytes = sizeof(struct sched_epoch_tenant),
    .gpu_bytes = sizeof(struct sched_epoch_gpu),
    .anticipates = true,
    .begin = sched_epoch_reset,
    .decide = tfs_decide,
    .charge = tfs_charge,
    .leave = sched_turn_leave,
};
