/* SPDX-License-Identifier: Apache-2.0 */
/* Priority groups (DCUDA 3.3, step 3): sessions whose demands together are about what the GPU has
 * form a group; groups take turns of group_slice_ns, in which all of the group are awake. By
 * falling demand, a session goes into the group whose new total is nearest to the GPU's places and
 * at most group_excess_percent above them, else into a new one. The smaller the demand, the higher
 * the stream priority in the group. The time that a turn takes too long (until nothing of it runs
 * any more) is owed by each session of the group, as with TFS; a group owes as much as the member
 * that owes most, and sits out while that is a turn or more.
 *
 * Groups are made anew when each of them has had its turn: a round. New sessions find a place in
 * those that have not had theirs. A tenant that has had a turn in the round that goes on gets no
 * new group in it, and a new session owes what its tenant's last one owed when it left: else a
 * tenant that opens a session for each request would have all turns, and no debts.
 *
 * Where all fit into one group, everybody is awake all the time: a GPU that is not overloaded needs
 * no turns.
 *
 * Reads: wants, busy, tenant, demand. Starvation: none; with n sessions one waits for at most n - 1
 * turns of group_slice_ns, each with the operations that run at its end, and until its own debt is
 * paid. Bad: for short requests (turns are long), where demands are not known (then each is a
 * group). */
#include "sched/next/next.h"

static uint64_t group_distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The group into which the session fits best; that behind the last one: into none. */
static uint32_t group_best(const struct sched *sched, const struct sched_session *session)
{
    const uint64_t whole = 1000000;
    uint64_t most = whole + whole * sched->settings.group_excess_percent / 100;
    uint32_t best = sched->group_count;
    uint64_t best_distance = UINT64_MAX;
    for (uint32_t group = sched->group_first; group < sched->group_count; group++) {
        uint64_t demand = sched->group_demands[group] + session->request.demand_ppm;
        if (demand <= most && group_distance(demand, whole) < best_distance) {
            best = group;
            best_distance = group_distance(demand, whole);
        }
    }
    return best;
}

/* Where there are as many groups as sessions, a member of the round has left meanwhile. */
static bool group_has_place(const struct sched *sched, const struct sched_session *session)
{
    return group_best(sched, session) != sched->group_count ||
           (sched->group_count != sched->session_room &&
            sched->tenants[session->tenant].group_round != sched->group_round);
}

static void group_place(struct sched *sched, uint32_t slot)
{
    struct sched_session *session = &sched->sessions[slot];
    uint32_t best = group_best(sched, session);
    if (best == sched->group_count) {
        sched->group_demands[sched->group_count++] = 0;
    }
    session->group = best;
    session->group_demand = session->request.demand_ppm;
    sched->group_demands[best] += session->group_demand;
}

/* The ready session without a group that demands most, of those that have a place. */
static uint32_t group_next_member(const struct sched *sched)
{
    uint32_t next = SCHED_NONE;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->ready && session->group == SCHED_NONE &&
            (next == SCHED_NONE ||
             session->request.demand_ppm > sched->sessions[next].request.demand_ppm) &&
            group_has_place(sched, session)) {
            next = slot;
        }
    }
    return next;
}

/* New ones find a place in the groups that have not had their turn, and in the present one. */
static void groups_complete(struct sched *sched)
{
    uint32_t slot = SCHED_NONE;
    while ((slot = group_next_member(sched)) != SCHED_NONE) {
        group_place(sched, slot);
    }
}

static void groups_make(struct sched *sched)
{
    sched_each (sched, slot) {
        sched->sessions[slot].group = SCHED_NONE;
    }
    sched->group_first = 0;
    sched->group_count = 0;
    sched->group_round++;
    groups_complete(sched);
}

struct group_state {
    bool ready, held; /* a member is; one has had work less than hold_ns ago */
    uint64_t held_until;
    double debt;
};

static struct group_state group_look(const struct sched *sched, uint32_t group, uint64_t now)
{
    struct group_state state = {.ready = false};
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->group != group) {
            continue;
        }
        state.ready = state.ready || session->ready;
        state.debt = session->debt > state.debt ? session->debt : state.debt;
        if (sched_held(sched, slot, now)) {
            state.held = true;
            uint64_t until = session->idle_since + sched_hold_ns(sched, slot);
            state.held_until = until > state.held_until ? until : state.held_until;
        }
    }
    return state;
}

static bool groups_something_runs(const struct sched *sched)
{
    sched_each (sched, slot) {
        if (sched->sessions[slot].request.busy != 0) {
            return true;
        }
    }
    return false;
}

static bool groups_others_ready(const struct sched *sched)
{
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->ready && session->group != sched->group_first) {
            return true;
        }
    }
    return false;
}

/* The members by rising demand, ties by slot: rank of one of them. */
static uint32_t group_rank(const struct sched *sched, uint32_t slot)
{
    const struct sched_session *session = &sched->sessions[slot];
    uint32_t rank = 0;
    sched_each (sched, other) {
        const struct sched_session *member = &sched->sessions[other];
        rank += member->group == session->group &&
                (member->request.demand_ppm < session->request.demand_ppm ||
                 (member->request.demand_ppm == session->request.demand_ppm && other < slot));
    }
    return rank;
}

static void group_wake(struct sched *sched, uint64_t until, uint64_t now)
{
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->group == sched->group_first && !session->capped) {
            sched_wake(sched, slot, until, group_rank(sched, slot));
        }
    }
    for (uint32_t i = 0; i < sched->awake_count; i++) {
        if (!sched->sessions[sched->awake[i].slot].awake) {
            sched_turn_begins(sched, sched->awake[i].slot, now);
        }
    }
    sched_again(sched, until);
}

/* The turn of the group goes on, or what is left of it is waited for. */
static bool groups_turn_goes_on(struct sched *sched, uint64_t now)
{
    struct group_state state = group_look(sched, sched->group_first, now);
    bool alone = !groups_others_ready(sched);
    if (!sched->group_over) {
        sched->group_alone = sched->group_alone || alone;
        sched->group_over = (now >= sched->group_until && !alone) || (!state.ready && !state.held);
    }
    if (sched->group_over) {
        return groups_something_runs(sched);
    }
    group_wake(sched, alone ? SCHED_NEVER : sched->group_until, now);
    if (!state.ready) {
        sched_again(sched, state.held_until);
    }
    return true;
}

/* The time that the turn has taken too long; a group that was alone has taken it from nobody. */
static double group_over(const struct sched *sched, uint64_t now)
{
    return now > sched->group_until && !sched->group_alone ? (double)(now - sched->group_until) : 0;
}

static void group_settle(struct sched *sched, uint64_t now)
{
    double over = group_over(sched, now);
    sched_each (sched, slot) {
        struct sched_session *session = &sched->sessions[slot];
        if (session->group == sched->group_first) {
            session->debt = over;
        }
    }
}

/* The turn of the next group, if it owes less than that. */
static bool group_start(struct sched *sched, uint64_t now)
{
    struct group_state state = group_look(sched, sched->group_first, now);
    double length = (double)sched->settings.group_slice_ns - state.debt;
    if (!state.ready) {
        return false;
    }
    if (length < 1) {
        sched_each (sched, slot) {
            struct sched_session *session = &sched->sessions[slot];
            double paid = (double)sched->settings.group_slice_ns;
            if (session->group == sched->group_first) {
                session->debt = session->debt > paid ? session->debt - paid : 0;
            }
        }
        return false;
    }
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->group == sched->group_first) {
            sched->tenants[session->tenant].group_round = sched->group_round;
        }
    }
    sched->group_running = true;
    sched->group_over = false;
    sched->group_alone = !groups_others_ready(sched);
    sched->group_until = now + (uint64_t)length;
    group_wake(sched, sched->group_alone ? SCHED_NEVER : sched->group_until, now);
    return true;
}

static bool groups_any_ready(const struct sched *sched)
{
    sched_each (sched, slot) {
        if (sched->sessions[slot].ready) {
            return true;
        }
    }
    return false;
}

static void groups_decide(struct sched *sched, uint64_t now)
{
    if (sched->group_running) {
        groups_complete(sched);
        if (groups_turn_goes_on(sched, now)) {
            return;
        }
        group_settle(sched, now);
        sched->group_running = false;
        sched->group_first++;
    }
    if (groups_something_runs(sched) || !groups_any_ready(sched)) {
        return;
    }
    groups_complete(sched);
    for (;;) {
        for (; sched->group_first < sched->group_count; sched->group_first++) {
            if (group_start(sched, now)) {
                return;
            }
        }
        groups_make(sched);
    }
}

/* There is room for another one; the next session of the tenant owes what this one does. */
static void groups_leave(struct sched *sched, uint32_t slot, uint64_t now)
{
    const struct sched_session *session = &sched->sessions[slot];
    double *debt = &sched->tenants[session->tenant].group_debt;
    bool has_turn = sched->group_running && session->group == sched->group_first;
    double owes = has_turn ? group_over(sched, now) : session->debt;
    *debt = owes > *debt ? owes : *debt;
    if (session->group != SCHED_NONE) {
        sched->group_demands[session->group] -= session->group_demand;
    }
}

static void groups_begin(struct sched *sched, uint64_t now)
{
    (void)now;
    sched->group_running = false;
    sched->group_count = 0;
    sched->group_first = 0;
    sched->group_round++;
    sched_each (sched, slot) {
        sched->sessions[slot].group = SCHED_NONE;
    }
}

const struct sched_policy sched_policy_groups = {
    .name = "groups",
    .summary = "groups of sessions that fill the GPU together take turns",
    .uses = SCHED_USES_HOLD | SCHED_USES(GROUP_SLICE) | SCHED_USES(GROUP_EXCESS),
    .begin = groups_begin,
    .decide = groups_decide,
    .leave = groups_leave,
};
