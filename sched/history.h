/* SPDX-License-Identifier: Apache-2.0 */
/* Least Attained Service's history (Strings IV-B1, after ATLAS, HPCA 2010): at the end of a quantum
 *     CGS = k * GS + (1 - k) * CGS,  k = 0.8
 * where GS is the GPU service of the quantum; for each session, and for each tenant (ours). It is
 * kept under every policy, so that a change to LAS finds it. */
#ifndef SCHED_HISTORY_H
#define SCHED_HISTORY_H

#include "sched/policy.h"

/* Lets GS and CGS of a tenant fade after so long without service. */
void sched_history_fade(const struct sched *sched, double *gs, double *cgs, uint64_t passed_ns);
/* A tenant has had some; and what that counts after so long. For las_fcfs and las_fill (ours)
 * service of tenants fades evenly: to 1/e in ten quanta, or in ten times the longest operation of
 * late, which would else be forgotten before others have had as much. */
void sched_history_note(struct sched *sched, struct sched_tenant *tenant, double used_ns);
double sched_history_faded(const struct sched *sched, double recent_ns, uint64_t passed_ns);
/* -1: tenant a has had less of late by its weight; 1: b has; 0: equal. */
int sched_history_compare(const struct sched_tenant *a, const struct sched_tenant *b);
/* Ends the quanta that are over, and lets fade what tenants have had. */
void sched_history_roll(struct sched *sched, uint64_t now);

#endif
