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

/* The turn of group `first` goes on until then; those before it have had theirs. */
struct groups_gpu {
    uint32_t first, count;
    bool running, over, alone;
    uint64_t round, until;
};
struct groups_tenant {
    uint64_t round; /* the last one in which it has had a turn */
};
struct groups_session {
    double debt;
    uint32_t group;         /* SCHED_NONE: it is in none */
    uint32_t demand;        /* what it counts for there, ppm */
    uint64_t of_the_number; /* not the session's: the demand of the group with its slot's number */
};

static struct groups_gpu *groups_of(const struct sched *sched)
{
    return sched_own_gpu(sched);
}

static struct groups_session *group_member(const struct sched *sched, uint32_t slot)
{
    return sched_own_session(sched, slot);
}

static uint64_t *group_demand(const struct sched *sched, uint32_t group)
{
    return &group_member(sched, group)->of_the_number;
}

static uint64_t group_distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The group into which the session fits best; that behind the last one: into none. */
static uint32_t group_best(const struct sched *sched, const struct sched_session *session)
{
    const struct groups_gpu *groups = groups_of(sched);
    const uint64_t whole = 1000000;
    uint64_t most = whole + whole * sched->settings.group_excess_percent / 100;
    uint32_t best = groups->count;
    uint64_t best_distance = UINT64_MAX;
    for (uint32_t group = groups->first; group < groups->count; group++) {
        uint64_t demand = *group_demand(sched, group) + session->request.demand_ppm;
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
    const struct groups_gpu *groups = groups_of(sched);
    const struct groups_tenant *tenant = sched_own_tenant(sched, session->tenant);
    return group_best(sched, session) != groups->count ||
           (groups->count != sched->session_room && tenant->round != groups->round);
}

static void group_place(struct sched *sched, uint32_t slot)
{
    struct groups_gpu *groups = groups_of(sched);
    const struct sched_session *session = &sched->sessions[slot];
    struct groups_session *member = group_member(sched, slot);
    uint32_t best = group_best(sched, session);
    if (best == groups->count) {
        *group_demand(sched, groups->count++) = 0;
    }
    member->group = best;
    member->demand = session->request.demand_ppm;
    *group_demand(sched, best) += member->demand;
}

/* The ready session without a group that demands most, of those that have a place. */
static uint32_t group_next_member(const struct sched *sched)
{
    uint32_t next = SCHED_NONE;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->ready && group_member(sched, slot)->group == SCHED_NONE &&
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
    struct groups_gpu *groups = groups_of(sched);
    sched_each (sched, slot) {
        group_member(sched, slot)->group = SCHED_NONE;
    }
    groups->first = 0;
    groups->count = 0;
    groups->round++;
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
        const struct groups_session *member = group_member(sched, slot);
        if (member->group != group) {
            continue;
        }
        state.ready = state.ready || session->ready;
        state.debt = member->debt > state.debt ? member->debt : state.debt;
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
        if (sched->sessions[slot].ready &&
            group_member(sched, slot)->group != groups_of(sched)->first) {
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
        rank += group_member(sched, other)->group == group_member(sched, slot)->group &&
                (member->request.demand_ppm < session->request.demand_ppm ||
                 (member->request.demand_ppm == session->request.demand_ppm && other < slot));
    }
    return rank;
}

static void group_wake(struct sched *sched, uint64_t until, uint64_t now)
{
    sched_each (sched, slot) {
        if (group_member(sched, slot)->group == groups_of(sched)->first &&
            !sched->sessions[slot].capped) {
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
    struct groups_gpu *groups = groups_of(sched);
    struct group_state state = group_look(sched, groups->first, now);
    bool alone = !groups_others_ready(sched);
    if (!groups->over) {
        groups->alone = groups->alone || alone;
        groups->over = (now >= groups->until && !alone) || (!state.ready && !state.held);
    }
    if (groups->over) {
        return groups_something_runs(sched);
    }
    group_wake(sched, alone ? SCHED_NEVER : groups->until, now);
    if (!state.ready) {
        sched_again(sched, state.held_until);
    }
    return true;
}

/* The time that the turn has taken too long; a group that was alone has taken it from nobody. */
static double group_over(const struct sched *sched, uint64_t now)
{
    const struct groups_gpu *groups = groups_of(sched);
    return now > groups->until && !groups->alone ? (double)(now - groups->until) : 0;
}

static void group_settle(struct sched *sched, uint64_t now)
{
    double over = group_over(sched, now);
    sched_each (sched, slot) {
        struct groups_session *member = group_member(sched, slot);
        if (member->group == groups_of(sched)->first) {
            member->debt = over;
        }
    }
}

/* The turn of the next group, if it owes less than that. */
static bool group_start(struct sched *sched, uint64_t now)
{
    struct groups_gpu *groups = groups_of(sched);
    struct group_state state = group_look(sched, groups->first, now);
    double length = (double)sched->settings.group_slice_ns - state.debt;
    if (!state.ready) {
        return false;
    }
    if (length < 1) {
        sched_each (sched, slot) {
            struct groups_session *member = group_member(sched, slot);
            double paid = (double)sched->settings.group_slice_ns;
            if (member->group == groups->first) {
                member->debt = member->debt > paid ? member->debt - paid : 0;
            }
        }
        return false;
    }
    sched_each (sched, slot) {
        struct groups_tenant *tenant = sched_own_tenant(sched, sched->sessions[slot].tenant);
        if (group_member(sched, slot)->group == groups->first) {
            tenant->round = groups->round;
        }
    }
    groups->running = true;
    groups->over = false;
    groups->alone = !groups_others_ready(sched);
    groups->until = now + (uint64_t)length;
    group_wake(sched, groups->alone ? SCHED_NEVER : groups->until, now);
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
    struct groups_gpu *groups = groups_of(sched);
    if (groups->running) {
        groups_complete(sched);
        if (groups_turn_goes_on(sched, now)) {
            return;
        }
        group_settle(sched, now);
        groups->running = false;
        groups->first++;
    }
    if (groups_something_runs(sched) || !groups_any_ready(sched)) {
        return;
    }
    groups_complete(sched);
    for (;;) {
        for (; groups->first < groups->count; groups->first++) {
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
    const struct groups_gpu *groups = groups_of(sched);
    const struct groups_session *member = group_member(sched, slot);
    double *debt = &sched->tenants[sched->sessions[slot].tenant].debt_left;
    bool has_turn = groups->running && member->group == groups->first;
    double owes = has_turn ? group_over(sched, now) : member->debt;
    *debt = owes > *debt ? owes : *debt;
    if (member->group != SCHED_NONE) {
        *group_demand(sched, member->group) -= member->demand;
    }
}

static void groups_join(struct sched *sched, uint32_t slot)
{
    struct groups_session *member = group_member(sched, slot);
    struct sched_tenant *tenant = &sched->tenants[sched->sessions[slot].tenant];
    member->group = SCHED_NONE;
    member->debt = tenant->debt_left;
    tenant->debt_left = 0;
}

static void groups_begin(struct sched *sched, uint64_t now)
{
    (void)now;
    struct groups_gpu *groups = groups_of(sched);
    groups->running = false;
    groups->count = 0;
    groups->first = 0;
    groups->round++;
    sched_each (sched, slot) {
        group_member(sched, slot)->group = SCHED_NONE;
    }
}

const struct sched_policy sched_policy_groups = {
    .name = "groups",
    .summary = "groups of sessions that fill the GPU together take turns",
    .uses = SCHED_USES_HOLD | SCHED_USES(GROUP_SLICE) | SCHED_USES(GROUP_EXCESS),
    .session_bytes = sizeof(struct groups_session),
    .tenant_bytes = sizeof(struct groups_tenant),
    .gpu_bytes = sizeof(struct groups_gpu),
    .begin = groups_begin,
    .decide = groups_decide,
    .join = groups_join,
    .leave = groups_leave,
};
