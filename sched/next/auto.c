/* SPDX-License-Identifier: Apache-2.0 */
/* The policy that suits what the sessions of the GPU do (ours):
 *   - somebody has a latency goal: `latency`;
 *   - sessions run side by side, and no engine does nearly everything, so that they can overlap
 * (kernels count by the part of the GPU that they fill): `las_fill`. Known from the service of
 * late: each operation counts by its time, and those before it fade by this time (so a kernel of
 * seconds is remembered through many short ones);
 *   - else `las_fcfs`: whatever is short gets through, and the GPU does not stand idle for it.
 * The bounds, and what this is worth, are from the simulator (docs/scheduling.md).
 *
 * Reads: all that these read. Starvation: as the policy of the moment; what is counted of waiting
 * is kept when it changes. Bad: where a certain policy has been promised, such as shares. */
#include <math.h>

#include "sched/next/next.h"

#define AUTO_EPOCHS 100u
/* The part of the service that one engine does: between these, the choice stays. */
#define AUTO_ONE_LESS 0.90
#define AUTO_ONE_MORE 0.95

static bool auto_goals(const struct sched *sched)
{
    sched_each (sched, slot) {
        if (sched->sessions[slot].request.goal_ns != 0) {
            return true;
        }
    }
    return false;
}

static void auto_choose(struct sched *sched)
{
    const struct sched_mix *mix = &sched->mix;
    if (sched->gpu.side_by_side) {
        bool was_one = sched->chosen == &sched_policy_las_fcfs;
        double copies = mix->copies[0] + mix->copies[1];
        double most_copies =
            sched->gpu.copy_engines == 1 ? copies : fmax(mix->copies[0], mix->copies[1]);
        double most = fmax(mix->places, most_copies), all = mix->kernels + copies;
        bool one = most >= all * (was_one ? AUTO_ONE_LESS : AUTO_ONE_MORE);
        sched->chosen = one ? &sched_policy_las_fcfs : &sched_policy_las_fill;
    }
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
    auto_choose(sched);
    auto_act(sched, auto_goals(sched) ? &sched_policy_latency : sched->chosen, now);
    sched->acting->decide(sched, now);
}

static void auto_charge(struct sched *sched, uint32_t slot, enum sched_engine engine,
                        uint64_t used_ns, uint64_t now)
{
    struct sched_mix *mix = &sched->mix;
    double used = (double)used_ns;
    if (engine == SCHED_COMPUTE) {
        mix->kernels += used;
        mix->places += used * sched->sessions[slot].request.demand_ppm / 1e6;
    } else {
        mix->copies[engine == SCHED_D2H] += used;
    }
    double window_ns = (double)(AUTO_EPOCHS * sched->settings.epoch_ns);
    double fade = fmin(1, window_ns / fmax(1, mix->kernels + mix->copies[0] + mix->copies[1]));
    mix->kernels *= fade;
    mix->copies[0] *= fade;
    mix->copies[1] *= fade;
    mix->places *= fade;
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

static void auto_begin(struct sched *sched, uint64_t now)
{
    sched->mix = (struct sched_mix){0};
    sched->chosen = &sched_policy_las_fcfs;
    auto_act(sched, sched->chosen, now);
}

const struct sched_policy sched_policy_auto = {
    .name = "auto",
    .summary = "the policy that suits what the sessions do: las_fcfs, las_fill, or latency",
    .begin = auto_begin,
    .decide = auto_decide,
    .charge = auto_charge,
    .leave = auto_leave,
};
