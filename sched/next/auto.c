/* SPDX-License-Identifier: Apache-2.0 */
/* The policy that suits what the sessions of the GPU do (ours). Every AUTO_EPOCHS epochs it looks
 * at the service of late, in which older service counts half for each such time:
 *   - somebody has a latency goal: `latency`;
 *   - most of it is copies, or kernels leave much of the GPU free: the engines can work beside each
 *     other. `ps` where sessions run side by side, else `las`;
 *   - else kernels that fill the GPU, one after the other: `tfs`, which keeps short requests of one
 *     tenant from waiting for the long ones of another; `las` where sessions run side by side and
 *     hardly copy, so that nothing would overlap anyway.
 * The bounds, and what they are worth, are from the simulator (docs/scheduling.md).
 *
 * Reads: all that these read. Starvation: as the policy of the moment; what is counted of waiting
 * is kept when it changes. Bad: where a certain policy has been promised, such as shares. */
#include "sched/next/next.h"

#define AUTO_EPOCHS 10u
/* Parts of the service of which the mix is known only near: between them, the choice stays. */
#define AUTO_COPIES_LESS 0.50
#define AUTO_COPIES_MORE 0.60
#define AUTO_COPIES_FEW  0.10
#define AUTO_FILL_LESS   0.65
#define AUTO_FILL_MORE   0.75

static double auto_fade(double service, uint64_t periods)
{
    return periods < 60 ? service / (double)(UINT64_C(1) << periods) : 0;
}

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
    double all = mix->kernels + mix->copies;
    const struct sched_policy *beside =
        sched->gpu.side_by_side ? &sched_policy_ps : &sched_policy_las;
    if (all <= 0) {
        return;
    }
    double copies = mix->copies / all;
    double fill = mix->kernels > 0 ? mix->places / mix->kernels : 1;
    bool was_beside = sched->acting == beside;
    bool copying = copies > (was_beside ? AUTO_COPIES_LESS : AUTO_COPIES_MORE);
    bool small = fill < (was_beside ? AUTO_FILL_MORE : AUTO_FILL_LESS);
    const struct sched_policy *turns =
        sched->gpu.side_by_side && copies < AUTO_COPIES_FEW ? &sched_policy_las : &sched_policy_tfs;
    sched->chosen = copying || small ? beside : turns;
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
    uint64_t period_ns = AUTO_EPOCHS * sched->settings.epoch_ns;
    if (now >= sched->mix.until) {
        uint64_t periods = (now - sched->mix.until) / period_ns + 1;
        auto_choose(sched);
        sched->mix.kernels = auto_fade(sched->mix.kernels, periods);
        sched->mix.copies = auto_fade(sched->mix.copies, periods);
        sched->mix.places = auto_fade(sched->mix.places, periods);
        sched->mix.until += periods * period_ns;
    }
    auto_act(sched, auto_goals(sched) ? &sched_policy_latency : sched->chosen, now);
    sched->acting->decide(sched, now);
}

static void auto_charge(struct sched *sched, uint32_t slot, enum sched_engine engine,
                        uint64_t used_ns, uint64_t now)
{
    struct sched_mix *mix = &sched->mix;
    double used = (double)used_ns;
    mix->kernels += engine == SCHED_COMPUTE ? used : 0;
    mix->copies += engine == SCHED_COMPUTE ? 0 : used;
    mix->places +=
        engine == SCHED_COMPUTE ? used * sched->sessions[slot].request.demand_ppm / 1e6 : 0;
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
    sched->mix = (struct sched_mix){.until = now + AUTO_EPOCHS * sched->settings.epoch_ns};
    sched->chosen = &sched_policy_tfs;
    auto_act(sched, sched->chosen, now);
}

const struct sched_policy sched_policy_auto = {
    .name = "auto",
    .summary = "the policy that suits what the sessions do: tfs, las, ps, or latency",
    .begin = auto_begin,
    .decide = auto_decide,
    .charge = auto_charge,
    .leave = auto_leave,
};
