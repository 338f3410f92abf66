/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants without a session here, whose rows others have taken: what they owe and have attained,
 * as long as that matters, so that nobody gets rid of a debt or a cap by a new session.
 *
 * It stops to matter when the buckets of a cap and a throttle are full again and what has been
 * attained has faded (history.h); a debt of TFS does not fade. There are at most SCHED_ABSENT_MAX:
 * of more, those that owe least are forgotten. */
#ifndef SCHED_ABSENT_H
#define SCHED_ABSENT_H

#include "sched/policy.h"

#define SCHED_ABSENT_MAX 4096u /* less than half a megabyte */

/* The debt that the tenant would be forgiven, ns of GPU time; greater is worse. */
double sched_absent_owes(const struct sched *sched, const struct sched_tenant *tenant,
                         uint64_t now);
/* The row is about to be another tenant's. Without memory it is forgotten. */
void sched_absent_keep(struct sched *sched, const struct sched_tenant *tenant, uint64_t now);
/* A row for the tenant of this number: with what is known of the tenant, which is not absent any
 * more. */
struct sched_tenant sched_absent_take(struct sched *sched, uint64_t number, uint64_t now);

#endif
