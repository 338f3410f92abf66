/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of policies that wake one session at a time. A turn ends when
 *   - the session has used its length of GPU time, or the length has passed on the clock while
 *     somebody else was ready, or
 *   - the session has had no work for hold_ns (at once if it leaves or its tenant reaches a cap).
 * Operations are not interrupted (evaluation of Strings' and Rain's policies: "wait for the one in
 * flight"): the next turn begins when nothing runs any more. A session without competitors keeps
 * its turn.
 *
 * hold_ns: most programs compute a little between two operations. If turns ended at every pause, a
 * program would get the GPU for one operation and then wait for the full turns of all others. The
 * time of a pause counts in the turn's length, not as GPU time. A policy that `anticipates` also
 * begins the turn of a session that pauses (as disk schedulers do: Iyer and Druschel, SOSP
 * 2001). */
#ifndef SCHED_TURN_H
#define SCHED_TURN_H

#include "sched/policy.h"

enum sched_turn_state {
    SCHED_TURN_GOES_ON, /* its session has been woken */
    SCHED_TURN_DRAINS,  /* it is over, but something runs: nobody is awake */
    SCHED_TURN_FREE,    /* the policy may begin the next one */
};
/* Decides whether the turn goes on. `ends`: the policy wants it to end. */
enum sched_turn_state sched_turn_check(struct sched *sched, bool ends, uint64_t now);
/* Whether a has not been served for longer than b. A session that has never been served begins at
 * the place of its tenant: else a tenant would go first whenever it opens a new one. */
static inline bool sched_turn_longer_ago(const struct sched_session *a,
                                         const struct sched_session *b)
{
    return a->place != b->place ? a->place < b->place : a->joined_order < b->joined_order;
}
/* Whether a turn of the session may begin: it has work, or is about to have some, for which the
 * policy waits. */
static inline bool sched_turn_may_begin(const struct sched *sched, uint32_t slot, uint64_t now)
{
    return sched->sessions[slot].ready ||
           (sched->acting->anticipates && sched_held(sched, slot, now));
}
/* Begins a turn, after SCHED_TURN_FREE, of such a session. */
void sched_turn_start(struct sched *sched, uint32_t slot, double length, uint64_t now);
/* The decision of a policy with an order: if nobody has a turn, the session that goes before all
 * others begins one of a slice. */
void sched_turn_by_order(struct sched *sched,
                         bool (*before)(const struct sched *sched, const struct sched_session *a,
                                        const struct sched_session *b),
                         uint64_t now);
/* A member `charge` of a policy: what the session of the turn has used. */
void sched_turn_charge(struct sched *sched, uint32_t slot, enum gpu_engine engine, uint64_t used_ns,
                       uint64_t now);
/* A member `leave`: its turn, if it is, is over. */
void sched_turn_leave(struct sched *sched, uint32_t slot, uint64_t now);
/* A member `begin`: there is no turn, and what runs is waited for. */
void sched_turn_reset(struct sched *sched, uint64_t now);

#endif
