/* SPDX-License-Identifier: Apache-2.0 */
/* las_fcfs for sessions that run side by side (ours): as that wakes one session at a time, copies
 * of both directions and kernels that leave room on the GPU never overlap. Here the first session
 * in its order uses its engine, and each further one, in this order, an engine that is free:
 *   - kernels share the GPU as long as there is room;
 *   - who waits for an engine keeps those behind it from it;
 *   - a session does not fill up an engine for LAS_FILL_LONGER times as long as a session before it
 * uses its own now, if that one uses this engine too: it would soon wait for it. (A program of
 * short copies and kernels would else find a long kernel of another one behind each copy.)
 * A session keeps its engine for a slice, and while it pauses for less than hold_ns.
 *
 * Reads: wants, busy, demand; attained service. How long a session uses an engine is its service
 * there by its turns. Starvation: as las_fcfs; a turn is for one engine here. Bad: where sessions
 * do not run side by side; where one engine does nearly everything, so that nothing can overlap
 * (las_fcfs keeps short programs together better). */
#include "sched/next/next.h"

#define LAS_FILL_LONGER 16.0 /* 4 to 64 do nearly as well in the simulator */
#define LAS_FILL_TIMES  10u  /* as many turns as LAS_FCFS_TIMES */

struct fill {
    struct sched *sched;
    uint64_t now;
    unsigned copies; /* engines that are in use */
    uint32_t room_ppm;
    unsigned kept; /* for one that waits */
};

#define FILL_COPIES (SCHED_BIT(SCHED_H2D) | SCHED_BIT(SCHED_D2H))

/* With one copy engine, copies of both directions want it. */
static unsigned fill_engines(const struct fill *fill, unsigned engines)
{
    bool one = fill->sched->gpu.copy_engines == 1 && (engines & FILL_COPIES) != 0;
    return engines | (one ? FILL_COPIES : 0);
}

/* So many turns have passed it that it goes first, or it has its turn for this reason. */
static bool fill_aged(const struct fill *fill, const struct sched_session *session)
{
    uint64_t passed_max = (uint64_t)fill->sched->settings.las_passed_max * LAS_FILL_TIMES;
    return session->woken ? session->aged
                          : passed_max != 0 && sched_passed(session, fill->now) >= passed_max;
}

/* The order of las_fcfs; but equals go by their joins, for turns that begin now must not change it.
 */
static bool fill_before(const struct fill *fill, const struct sched_session *a,
                        const struct sched_session *b)
{
    const struct sched_tenant *a_tenant = &fill->sched->tenants[a->tenant];
    const struct sched_tenant *b_tenant = &fill->sched->tenants[b->tenant];
    const bool a_aged = fill_aged(fill, a);
    if (a_aged != fill_aged(fill, b)) {
        return a_aged;
    }
    const double a_cgs = a_tenant->cgs / a_tenant->weight, b_cgs = b_tenant->cgs / b_tenant->weight;
    return !a_aged && (a_cgs < b_cgs || a_cgs > b_cgs) ? a_cgs < b_cgs
                                                       : a->joined_order < b->joined_order;
}

static void fill_use(struct fill *fill, const struct sched_session *session, unsigned engines)
{
    fill->copies |= engines & FILL_COPIES;
    if ((engines & SCHED_BIT(SCHED_COMPUTE)) != 0) {
        uint32_t demand_ppm = session->request.demand_ppm;
        fill->room_ppm -= demand_ppm < fill->room_ppm ? demand_ppm : fill->room_ppm;
    }
}

/* For how long it uses one of the engines, about; 0: not known. */
static double fill_length(const struct fill *fill, const struct sched_session *session,
                          unsigned engines)
{
    uint64_t most = 0;
    for (int i = 0; i < SCHED_ENGINES; i++) {
        if ((engines & SCHED_BIT(i)) != 0 && session->attained_ns[i] > most) {
            most = session->attained_ns[i];
        }
    }
    uint64_t turns = session->turns;
    turns -= turns != 0 && session->turn_began == fill->now ? 1 : 0; /* one begins */
    return turns != 0 ? (double)most / (double)turns : 0;
}

/* Whether a session before it would soon wait for it. */
static bool fill_delays(const struct fill *fill, const struct sched_session *session)
{
    const struct sched *sched = fill->sched;
    const unsigned engines = fill_engines(fill, session->engines);
    const double length = fill_length(fill, session, engines);
    for (uint32_t i = 0; i < sched->awake_count; i++) {
        const struct sched_session *other = &sched->sessions[sched->awake[i].slot];
        const unsigned others = fill_engines(fill, other->engines);
        if ((others & engines) == 0 && fill_length(fill, other, engines) > 0 &&
            fill_before(fill, other, session) &&
            length > LAS_FILL_LONGER * fill_length(fill, other, others)) {
            return true;
        }
    }
    return false;
}

/* Those whose turns go on, and what others still use. */
static void fill_go_on(struct fill *fill)
{
    struct sched *sched = fill->sched;
    sched_each (sched, slot) {
        struct sched_session *session = &sched->sessions[slot];
        const unsigned asks = session->request.wants | session->request.busy;
        bool same = (asks & ~(unsigned)session->engines) == 0;
        session->engines = asks != 0 ? (uint8_t)asks : session->engines;
        if (session->awake && same && (session->ready || sched_held(sched, slot, fill->now)) &&
            fill->now - session->turn_began < sched->settings.slice_ns) {
            sched_wake(sched, slot, SCHED_NEVER, 0);
            fill_use(fill, session, fill_engines(fill, session->engines));
            if (!session->ready) {
                sched_again(sched, session->idle_since + sched_hold_ns(sched, slot));
            }
        } else {
            fill_use(fill, session, fill_engines(fill, session->request.busy));
        }
        session->looked_at = session->woken || !session->ready || session->request.wants == 0;
    }
}

/* The others, in order. True: somebody waits. */
static bool fill_more(struct fill *fill)
{
    struct sched *sched = fill->sched;
    bool waits = false;
    for (;;) {
        uint32_t next = SCHED_NONE;
        sched_each (sched, slot) {
            const struct sched_session *session = &sched->sessions[slot];
            if (!session->looked_at &&
                (next == SCHED_NONE || fill_before(fill, session, &sched->sessions[next]))) {
                next = slot;
            }
        }
        if (next == SCHED_NONE) {
            return waits;
        }
        struct sched_session *session = &sched->sessions[next];
        const unsigned engines = fill_engines(fill, session->engines);
        const unsigned more = engines & ~fill_engines(fill, session->request.busy);
        session->looked_at = true;
        bool is_free = (more & fill->copies) == 0 &&
                       ((more & SCHED_BIT(SCHED_COMPUTE)) == 0 || fill->room_ppm != 0);
        if ((engines & fill->kept) == 0 && is_free && !fill_delays(fill, session)) {
            session->aged = fill_aged(fill, session);
            sched_wake(sched, next, SCHED_NEVER, 0);
            fill_use(fill, session, more);
        } else {
            waits = true;
            fill->kept |= engines;
        }
    }
}

static void las_fill_decide(struct sched *sched, uint64_t now)
{
    struct fill fill = {.sched = sched, .now = now, .room_ppm = 1000000};
    fill_go_on(&fill);
    const uint32_t goes_on = sched->awake_count;
    bool waits = fill_more(&fill);
    const uint32_t count = sched->awake_count;
    for (uint32_t i = goes_on; i < count; i++) {
        sched_turn_begins(sched, sched->awake[i].slot, now);
    }
    for (uint32_t i = 0; i < count && waits; i++) {
        struct sched_awake *awake = &sched->awake[i];
        awake->until = sched->sessions[awake->slot].turn_began + sched->settings.slice_ns;
        sched_again(sched, awake->until);
    }
    sched_each (sched, slot) { /* nobody waits for the end of their turns */
        if (!waits && sched->sessions[slot].ready && !sched->sessions[slot].woken) {
            sched_wake(sched, slot, SCHED_NEVER, 0);
        }
    }
}

const struct sched_policy sched_policy_las_fill = {
    .name = "las_fill",
    .summary = "las_fcfs, and other sessions use the engines that are free",
    .decide = las_fill_decide,
};
