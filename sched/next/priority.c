/* SPDX-License-Identifier: Apache-2.0 */
/* Strict priority with aging: the session with the greatest priority has the GPU, one at a time;
 * equal ones take turns of a slice. A higher one that arrives ends the turn at the next operation.
 * A session that waits gains one step for each aging_ns (ours, after the decay of Unix'
 * schedulers), and keeps its gain for one turn. A session that pauses for less than hold_ns keeps
 * its place.
 *
 * Reads: wants, busy, priority. Starvation: a session P steps below all others waits for at most (P
 * + 1) * aging_ns and one turn of each session that has waited longer; without aging (0) for ever.
 * Bad: where each tenant chooses its own priority. */
#include "sched/next/next.h"
#include "sched/turn.h"

/* The priority of the session of the turn, with what it has gained. */
struct priority_gpu {
    uint64_t turn_priority;
};

static uint64_t priority_of(const struct sched *sched, const struct sched_session *session,
                            uint64_t now)
{
    uint64_t aging_ns = sched->settings.aging_ns;
    uint64_t waited = session->waiting_since == SCHED_NEVER ? 0 : now - session->waiting_since;
    return session->request.priority + (aging_ns == 0 ? 0 : waited / aging_ns);
}

static void priority_decide(struct sched *sched, uint64_t now)
{
    struct priority_gpu *own = sched_own_gpu(sched);
    uint32_t next = SCHED_NONE;
    uint64_t best = 0;
    bool higher = false;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        uint64_t priority = priority_of(sched, session, now);
        if (slot == sched->turn.slot || !sched_turn_may_begin(sched, slot, now)) {
            continue;
        }
        higher = higher || (session->ready && priority > own->turn_priority);
        if (next == SCHED_NONE || priority > best ||
            (priority == best && session->order < sched->sessions[next].order)) {
            next = slot;
            best = priority;
        }
    }
    if (sched_turn_check(sched, higher, now) != SCHED_TURN_FREE) {
        return;
    }
    /* The session of the last turn competes, too; it is the last of its equals. */
    uint32_t last = sched->turn.slot;
    if (last != SCHED_NONE && sched_turn_may_begin(sched, last, now) &&
        (next == SCHED_NONE || sched->sessions[last].request.priority > best)) {
        next = last;
        best = sched->sessions[last].request.priority;
    }
    if (next != SCHED_NONE) {
        own->turn_priority = best;
        sched_turn_start(sched, next, (double)sched->settings.slice_ns, now);
    }
}

const struct sched_policy sched_policy_priority = {
    .name = "priority",
    .summary = "strict priority, one session at a time; waiting ones rise",
    .uses = SCHED_USES_HOLD | SCHED_USES(SLICE) | SCHED_USES(AGING) | SCHED_USES(PRIORITY),
    .gpu_bytes = sizeof(struct priority_gpu),
    .anticipates = true,
    .begin = sched_turn_reset,
    .decide = priority_decide,
    .charge = sched_turn_charge,
    .leave = sched_turn_leave,
};
