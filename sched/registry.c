/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sched/next/next.h"
#include "sched/policy.h"

static const struct sched_policy *const policies[] = {
    &sched_policy_none,     &sched_policy_rr,       &sched_policy_las,
    &sched_policy_las_fcfs, &sched_policy_las_fill, &sched_policy_fs,
    &sched_policy_tfs,      &sched_policy_ps,       &sched_policy_ps_bandwidth,
    &sched_policy_groups,   &sched_policy_priority, &sched_policy_latency,
    &sched_policy_auto,
};

const struct sched_policy *sched_policy_at(size_t i)
{
    return i < sizeof(policies) / sizeof(policies[0]) ? policies[i] : NULL;
}

const struct sched_policy *sched_policy_find(const char *name)
{
    const struct sched_policy *policy = NULL;
    for (size_t i = 0; (policy = sched_policy_at(i)) != NULL; i++) {
        if (strcmp(policy->name, name) == 0) {
            return policy;
        }
    }
    return NULL;
}

const char *sched_policy_name(const struct sched_policy *policy)
{
    return policy->name;
}

const char *sched_policy_summary(const struct sched_policy *policy)
{
    return policy->summary;
}
