/* SPDX-License-Identifier: Apache-2.0 */
/* Latency targets (ours; earliest deadline first after Liu and Layland, 1973): a session with a
 * goal goes first at the next operation boundary; of several, the one whose goal ends first.
 * Sessions without a goal are batch work: they fill in, in turns of a slice. One session is awake
 * at a time.
 *
 * Bound: an operation with a goal waits for one batch operation, the horizon (work that was
 * submitted ahead), and the other operations with goals. A goal shorter than the longest batch
 * operation cannot be promised.
 *
 * Reads: wants, busy, goal; horizon. Starvation: batch work that has waited for
 * horizon * (100 - batch_percent) / batch_percent gets a turn of one horizon, so it has
 * batch_percent of the time at least; with n batch sessions one waits for n such times.
 * batch_percent = 0: for ever. Bad: where everybody has a goal (then it is earliest deadline first,
 * which under overload misses all goals), where batch operations are long. */
#include "sched/next/next.h"
#include "sched/turn.h"

struct latency_gpu {
    uint64_t batch_ended; /* the last time at which batch work had its turn */
    bool batch_forced;    /* and it has it now although somebody with a goal waits */
};

static bool latency_has_goal(const struct sched_session *session)
{
    return session->request.goal_ns != 0;
}

static uint64_t latency_deadline(const struct sched_session *session, uint64_t now)
{
    uint64_t since = session->waiting_since == SCHED_NEVER ? now : session->waiting_since;
    uint64_t goal = session->request.goal_ns;
    return goal > SCHED_NEVER - since ? SCHED_NEVER : since + goal;
}

static bool latency_before(const struct sched_session *a, const struct sched_session *b,
                           uint64_t now)
{
    uint64_t a_ends = latency_has_goal(a) ? latency_deadline(a, now) : 0;
    uint64_t b_ends = latency_has_goal(b) ? latency_deadline(b, now) : 0;
    return a_ends != b_ends ? a_ends < b_ends : sched_turn_longer_ago(a, b);
}

/* The first session of those with a goal, or of the others. */
static uint32_t latency_first(const struct sched *sched, bool goals, uint64_t now)
{
    uint32_t first = SCHED_NONE;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (!session->ready || latency_has_goal(session) != goals) {
            continue;
        }
        if (first == SCHED_NONE || latency_before(session, &sched->sessions[first], now)) {
            first = slot;
        }
    }
    return first;
}

/* When batch work that waits must have its turn. */
static uint64_t latency_batch_due(const struct sched *sched, uint32_t batch, uint64_t now)
{
    const struct latency_gpu *own = sched_own_gpu(sched);
    uint32_t percent = sched->settings.batch_percent;
    if (batch == SCHED_NONE || percent == 0) {
        return SCHED_NEVER;
    }
    uint64_t since = sched->sessions[batch].waiting_since;
    since = since == SCHED_NEVER ? now : since;
    since = since < own->batch_ended ? own->batch_ended : since;
    return since + sched->settings.horizon_ns * (100 - percent) / percent;
}

static void latency_start(struct sched *sched, uint32_t goal, uint32_t batch, uint64_t due,
                          uint64_t now)
{
    const struct sched_settings *settings = &sched->settings;
    struct latency_gpu *own = sched_own_gpu(sched);
    own->batch_forced = goal != SCHED_NONE && due <= now;
    if (goal != SCHED_NONE && !own->batch_forced) {
        sched_turn_start(sched, goal, (double)settings->slice_ns, now);
        sched_again(sched, due);
    } else if (batch != SCHED_NONE) {
        uint64_t length = own->batch_forced ? settings->horizon_ns : settings->slice_ns;
        sched_turn_start(sched, batch, (double)length, now);
    }
}

static void latency_decide(struct sched *sched, uint64_t now)
{
    struct latency_gpu *own = sched_own_gpu(sched);
    uint32_t owner = sched->turn.slot;
    bool batch_turn = owner != SCHED_NONE && !latency_has_goal(&sched->sessions[owner]);
    if (batch_turn && !sched->turn.over) {
        own->batch_ended = now;
    }
    uint32_t goal = latency_first(sched, true, now);
    uint32_t batch = latency_first(sched, false, now);
    uint64_t due = latency_batch_due(sched, batch, now);
    bool ends = batch_turn ? goal != SCHED_NONE && !own->batch_forced : due <= now;
    enum sched_turn_state state = sched_turn_check(sched, ends, now);
    if (state == SCHED_TURN_GOES_ON && !batch_turn && due > now) {
        sched_again(sched, due);
    } else if (state == SCHED_TURN_FREE) {
        latency_start(sched, goal, batch, due, now);
    }
}

static void latency_begin(struct sched *sched, uint64_t now)
{
    struct latency_gpu *own = sched_own_gpu(sched);
    sched_turn_reset(sched, now);
    own->batch_ended = now;
    own->batch_forced = false;
}

const struct sched_policy sched_policy_latency = {
    .name = "latency",
    .summary = "sessions with a latency goal go first, the others fill in",
    .uses = SCHED_USES_LATENCY,
    .gpu_bytes = sizeof(struct latency_gpu),
    .begin = latency_begin,
    .decide = latency_decide,
    .charge = sched_turn_charge,
    .leave = sched_turn_leave,
};
