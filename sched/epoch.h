/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of FS and TFS: each tenant that has work when an epoch begins gets one turn in it, of
 * epoch * weight / (sum of these weights), less what it owes; who owes more than that sits out and
 * owes so much less. Inside a tenant, sessions take turns, and who pauses leaves the rest of the
 * turn to another one that has work. A tenant that has had work less than hold_ns ago has some
 * here: else others would begin long operations in each of its pauses, and a tenant that owes would
 * be the only one with work, and would owe nothing.
 *
 * Work conserving: a tenant without work leaves his turn to the next one, and the next epoch begins
 * as soon as all have had theirs. So what he leaves over goes to the others by their weights. */
#ifndef SCHED_EPOCH_H
#define SCHED_EPOCH_H

#include "sched/policy.h"

/* debts: what a turn takes too much is owed. */
void sched_epoch_decide(struct sched *sched, bool debts, uint64_t now);
/* A member `begin`. */
void sched_epoch_reset(struct sched *sched, uint64_t now);

#endif
