/* SPDX-License-Identifier: Apache-2.0 */
/* The policy that suits what the sessions of the GPU do (ours): `latency` if somebody has a latency
 * goal, else `las_fill`, which knows what overlaps on this GPU: whatever is short gets through, and
 * no engine stands idle for it. docs/scheduling.md has its gains in the simulator.
 *
 * Reads: all that these read. Starvation: as the policy of the moment; what is counted of waiting
 * is kept when it changes. Bad: where a certain policy has been promised, such as shares. */
#include "sched/next/next.h"

static const struct sched_policy *auto_choice(const struct sched *sched)
{
    sched_each (sched, slot) {
        if (sched->sessions[slot].request.goal_ns != 0) {
            return &sched_policy_latency;
        }
    }
    return &sched_policy_las_fill;
}

static void auto_act(struct sched *sched, const struct sched_policy *policy, uint64_t now)
{
    if (policy != sched->acting) {
        sched->acting = policy;
        if (policy->begin != NULL) {
            policy->begin(sched, now);
        }
    }
}

static void auto_decide(struct sched *sched, uint64_t now)
{
    auto_act(sched, auto_choice(sched), now);
    sched->acting->decide(sched, now);
}

static void auto_charge(struct sched *sched, uint32_t slot, enum gpu_engine engine,
                        uint64_t used_ns, uint64_t now)
{
    if (sched->acting->charge != NULL) {
        sched->acting->charge(sched, slot, engine, used_ns, now);
    }
}

static void auto_leave(struct sched *sched, uint32_t slot, uint64_t now)
{
    if (sched->acting->leave != NULL) {
        sched->acting->leave(sched, slot, now);
    }
}

/* las_fill has state of sessions, latency of the GPU: both keep it while the other one acts. */
static void auto_join(struct sched *sched, uint32_t slot)
{
    sched_policy_las_fill.join(sched, slot);
}

static void auto_begin(struct sched *sched, uint64_t now)
{
    auto_act(sched, auto_choice(sched), now);
}

const struct sched_policy sched_policy_auto = {
    .name = "auto",
    .summary = "the policy that suits what the sessions do: las_fill, or latency",
    .uses = SCHED_USES_LAS | SCHED_USES_LATENCY,
    .begin = auto_begin,
    .decide = auto_decide,
    .charge = auto_charge,
    .join = auto_join,
    .leave = auto_leave,
};
