/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/clock.h"
#include "sched/policy.h"

struct sched_settings sched_settings_default(void)
{
    return (struct sched_settings){.slice_ns = 10 * GA_NS_PER_MS,
                                   .epoch_ns = 100 * GA_NS_PER_MS,
                                   .quantum_ns = GA_NS_PER_S,
                                   .horizon_ns = 2 * GA_NS_PER_MS,
                                   .hold_ns = 500 * GA_NS_PER_US,
                                   .patience_ns = 2 * GA_NS_PER_S,
                                   .group_slice_ns = 100 * GA_NS_PER_MS,
                                   .group_excess_percent = 10,
                                   .aging_ns = GA_NS_PER_S,
                                   .passed_max = 10,
                                   .las_passed_max = 100,
                                   .cap_window_ns = 100 * GA_NS_PER_MS,
                                   .bandwidth_percent = 100,
                                   .batch_percent = 5};
}

/* What must hold whatever the policy is. */
struct rule {
    bool holds;
    const char *why;
};

enum ga_status sched_settings_check(const struct sched_policy *policy,
                                    const struct sched_settings *settings,
                                    const struct sched_gpu *gpu, char *why, size_t why_room)
{
    const uint64_t time_max = 3600 * GA_NS_PER_S;
    const struct rule rules[] = {
        {settings->slice_ns >= 10 * GA_NS_PER_US && settings->slice_ns <= time_max,
         "the slice must be between 10us and 1h"},
        {settings->epoch_ns >= settings->slice_ns && settings->epoch_ns <= time_max,
         "the epoch must be at least as long as the slice, and at most 1h"},
        {settings->quantum_ns <= time_max, "the quantum of LAS must be at most 1h"},
        {settings->quantum_ns > settings->slice_ns,
         "the quantum of LAS must be longer than the slice: service counts from the end of a "
         "quantum on, and a quantum of one slice would be round robin"},
        {settings->horizon_ns >= GA_NS_PER_US, "the horizon must be at least 1us"},
        {settings->horizon_ns <= settings->slice_ns,
         "the horizon must be at most the slice: what is submitted ahead runs on when a turn ends"},
        {settings->hold_ns <= settings->epoch_ns, "hold must be at most the epoch"},
        {settings->patience_ns <= time_max, "the patience must be at most 1h"},
        {settings->group_slice_ns >= settings->slice_ns && settings->group_slice_ns <= time_max,
         "the slice of groups must be at least as long as the slice, and at most 1h"},
        {settings->group_excess_percent <= 100,
         "the excess of a group must be at most 100 percent"},
        {settings->aging_ns <= time_max, "aging must be at most 1h; 0 is none"},
        {settings->passed_max >= 1, "the number of turns that pass a session must be at least 1"},
        {settings->cap_window_ns >= settings->slice_ns && settings->cap_window_ns <= time_max,
         "the window of caps must be at least as long as the slice, and at most 1h"},
        {settings->bandwidth_percent >= 1 && settings->bandwidth_percent <= 1000,
         "the bandwidth for those awake must be between 1 and 1000 percent"},
        {settings->batch_percent <= 100, "the part of batch work must be at most 100 percent"},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (!rules[i].holds) {
            snprintf(why, why_room, "%s", rules[i].why);
            return GA_INVALID;
        }
    }
    if (gpu->copy_engines < 1 || gpu->copy_engines > 2) {
        snprintf(why, why_room, "a GPU has one or two copy engines, not %u", gpu->copy_engines);
        return GA_INVALID;
    }
    return policy->check == NULL ? GA_OK : policy->check(settings, gpu, why, why_room);
}
