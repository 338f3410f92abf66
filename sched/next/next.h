/* SPDX-License-Identifier: Apache-2.0 */
/* The policies, each in the file of its name. */
#ifndef SCHED_NEXT_NEXT_H
#define SCHED_NEXT_NEXT_H

#include "sched/policy.h"

extern const struct sched_policy sched_policy_none, sched_policy_rr, sched_policy_las,
    sched_policy_las_fcfs, sched_policy_las_fill, sched_policy_fs, sched_policy_tfs,
    sched_policy_ps, sched_policy_ps_bandwidth, sched_policy_groups, sched_policy_priority,
    sched_policy_latency, sched_policy_auto;

#endif
