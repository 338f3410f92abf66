/* SPDX-License-Identifier: Apache-2.0 */
/* Fair Share (Rain 4.2.2, the naive baseline of TFS): one session awake at a time, for a part of
 * the epoch proportional to the weight of its tenant (epoch.h). The time that an operation takes
 * beyond the end of its turn is forgotten.
 *
 * Reads: wants, busy, tenant, weight. Starvation: none; a tenant waits for at most an epoch and one
 * operation of each other tenant. Bad: where operations are longer than turns: their tenant gets
 * more than its share. */
#include "sched/epoch.h"
#include "sched/next/next.h"
#include "sched/turn.h"

static void fs_decide(struct sched *sched, uint64_t now)
{
    sched_epoch_decide(sched, false, now);
}

const struct sched_policy sched_policy_fs = {
    .name = "fs",
    .summary = "fair share: turns by the tenants' weights, without a memory of overshoot",
    .uses = SCHED_USES_HOLD | SCHED_USES(SHARE),
    .tenant_bytes = sizeof(struct sched_epoch_tenant),
    .gpu_bytes = sizeof(struct sched_epoch_gpu),
    .anticipates = true,
    .begin = sched_epoch_reset,
    .decide = fs_decide,
    .charge = sched_turn_charge,
    .leave = sched_turn_leave,
};
