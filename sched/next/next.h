/* SPDX-License-Identifier: Apache-2.0 */
/* The policies, each in the file of its name. */
#ifndef SCHED_NEXT_NEXT_H
#define SCHED_NEXT_NEXT_H

#include "sched/policy.h"

/* All of them, in the order of docs/scheduling.md. */
#define SCHED_POLICIES(policy)                                                                     \
    policy(none) policy(rr) policy(las) policy(las_fcfs) policy(las_fill) policy(fs) policy(tfs)   \
        policy(ps) policy(ps_bandwidth) policy(groups) policy(priority) policy(latency)            \
            policy(auto)

#define SCHED_POLICY_DECLARED(name) extern const struct sched_policy sched_policy_##name;
SCHED_POLICIES(SCHED_POLICY_DECLARED)

#endif
