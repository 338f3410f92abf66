/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of FS and TFS: each tenant that has work when an epoch begins gets one turn in it, of
 * epoch * weight / (sum of these weights), less what it owes; a tenant that owes more than that
 * sits out and owes so much less. Inside a tenant, sessions take turns, and one that pauses leaves
 * the rest of the turn to another one that has work. A tenant that has had work less than hold_ns
 * ago has some here: else others would begin long operations in each of its pauses.
 *
 * Work conserving: a tenant without work leaves its turn to the next one, and has what is left of
 * it if it comes back in the epoch. The next epoch begins as soon as all with work have had theirs.
 * The rest that it leaves goes to the others by their weights.
 *
 * Debts: who is alone uses the GPU for nothing, but owes what it uses when others have come back.
 * While all that have work owe, their debts would be forgiven if epochs passed in no time: so the
 * turns of those pass that are about to come back, and that use enough of the GPU to be waited for,
 * or are owed many times their pause: they would find another one's operation behind each.
 */
#ifndef SCHED_EPOCH_H
#define SCHED_EPOCH_H

#include "sched/policy.h"

/* The state of a policy of epochs (struct sched_policy). The tenant whose turn is or was the last
 * is the one whose row is kept; SCHED_NONE: there has been no epoch yet. */
struct sched_epoch_tenant {
    double due;    /* what its turn in this epoch may take */
    bool sits_out; /* it has work, and no turn in this epoch because of its debt */
    bool is_owed;  /* others owe many times its pause, and have not paid all of it yet */
};
struct sched_epoch_gpu {
    bool settles;         /* the last turn is to be accounted for */
    uint64_t waits_since; /* for a tenant that is about to have work; SCHED_NEVER: it does not */
};

/* debts: what a turn takes too much is owed. */
void sched_epoch_decide(struct sched *sched, bool debts, uint64_t now);
/* A member `begin`. */
void sched_epoch_reset(struct sched *sched, uint64_t now);

#endif
