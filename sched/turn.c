/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/turn.h"

#include <math.h>

/* Whether nobody else wants the GPU, or is about to. */
static bool turn_alone(const struct sched *sched, uint64_t now, uint64_t *again)
{
    bool alone = true;
    *again = SCHED_NEVER;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (slot == sched->turn.slot) {
            continue;
        }
        if (session->ready) {
            alone = false;
        } else if (sched->acting->anticipates && sched_held(sched, slot, now)) {
            alone = false;
            uint64_t ends = session->idle_since + sched_hold_ns(sched, slot);
            *again = ends < *again ? ends : *again;
        }
    }
    return alone;
}

static bool turn_something_runs(const struct sched *sched)
{
    sched_each (sched, slot) {
        if (sched->sessions[slot].request.busy != 0) {
            return true;
        }
    }
    return false;
}

/* Wakes the session of the turn for what is left of it. */
static void turn_wake(struct sched *sched, bool alone)
{
    struct sched_turn *turn = &sched->turn;
    uint64_t end = turn->began + (uint64_t)ceil(turn->length);
    uint64_t idle_since = sched->sessions[turn->slot].idle_since;
    sched_wake(sched, turn->slot, alone ? SCHED_NEVER : end, 0);
    if (!alone) {
        sched_again(sched, end);
    }
    if (idle_since != SCHED_NEVER) {
        sched_again(sched, idle_since + sched_hold_ns(sched, turn->slot));
    }
}

static void turn_note_alone(struct sched_turn *turn, bool alone, uint64_t now)
{
    turn->alone = turn->alone || alone;
    turn->wanted_since = alone                               ? SCHED_NEVER
                         : turn->wanted_since == SCHED_NEVER ? now
                                                             : turn->wanted_since;
}

enum sched_turn_state sched_turn_check(struct sched *sched, bool ends, uint64_t now)
{
    struct sched_turn *turn = &sched->turn;
    if (turn->slot != SCHED_NONE && !turn->over) {
        const struct sched_session *session = &sched->sessions[turn->slot];
        uint64_t again = SCHED_NEVER;
        bool alone = turn_alone(sched, now, &again);
        bool used_up = turn->used >= turn->length || (double)(now - turn->began) >= turn->length;
        turn_note_alone(turn, alone, now);
        turn->over = (used_up && !alone) || (ends && !alone) ||
                     (!session->ready && !sched_held(sched, turn->slot, now));
        if (!turn->over) {
            turn_wake(sched, alone);
            sched_again(sched, again);
            return SCHED_TURN_GOES_ON;
        }
    }
    return turn_something_runs(sched) ? SCHED_TURN_DRAINS : SCHED_TURN_FREE;
}

void sched_turn_start(struct sched *sched, uint32_t slot, double length, uint64_t now)
{
    uint64_t again = SCHED_NEVER;
    sched->turn = (struct sched_turn){
        .slot = slot, .began = now, .length = length, .wanted_since = SCHED_NEVER};
    turn_note_alone(&sched->turn, turn_alone(sched, now, &again), now);
    turn_wake(sched, sched->turn.alone);
    sched_again(sched, again);
    sched_turn_begins(sched, slot, now);
}

void sched_turn_by_order(struct sched *sched,
                         bool (*before)(const struct sched *sched, const struct sched_session *a,
                                        const struct sched_session *b),
                         uint64_t now)
{
    if (sched_turn_check(sched, false, now) != SCHED_TURN_FREE) {
        return;
    }
    uint32_t next = SCHED_NONE;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (sched_turn_may_begin(sched, slot, now) &&
            (next == SCHED_NONE || before(sched, session, &sched->sessions[next]))) {
            next = slot;
        }
    }
    if (next != SCHED_NONE) {
        sched_turn_start(sched, next, (double)sched->settings.slice_ns, now);
    }
}

void sched_turn_charge(struct sched *sched, uint32_t slot, enum gpu_engine engine, uint64_t used_ns,
                       uint64_t now)
{
    (void)engine;
    (void)now;
    if (slot == sched->turn.slot) {
        sched->turn.used += (double)used_ns;
    }
}

void sched_turn_leave(struct sched *sched, uint32_t slot, uint64_t now)
{
    (void)now;
    if (slot == sched->turn.slot) {
        sched->turn.slot = SCHED_NONE;
    }
}

void sched_turn_reset(struct sched *sched, uint64_t now)
{
    (void)now;
    sched->turn = (struct sched_turn){.slot = SCHED_NONE};
}
