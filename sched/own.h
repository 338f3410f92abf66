/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the policies themselves: for each session, tenant and GPU as many bytes as the
 * policy that wants most (struct sched_policy): nothing is allocated when the policy changes.
 *
 * All of it is zero when a policy begins, and a tenant's when its row gets another tenant; of a
 * session that joins it is what the policy's `join` makes of it. */
#ifndef SCHED_OWN_H
#define SCHED_OWN_H

#include "sched/policy.h"

/* GA_NO_MEMORY. */
GA_CHECKED enum ga_status sched_own_init(struct sched *sched);
void sched_own_fini(struct sched *sched);
/* Room for so many sessions and tenants, of which there was less. GA_NO_MEMORY: it is as it was. */
GA_CHECKED enum ga_status sched_own_reserve(struct sched *sched, uint32_t sessions,
                                            uint32_t tenants);
void sched_own_clear(struct sched *sched);
void sched_own_clear_tenant(struct sched *sched, uint32_t row);

#endif
