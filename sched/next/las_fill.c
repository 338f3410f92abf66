/* SPDX-License-Identifier: Apache-2.0 */
/* las_fcfs for engines (ours): as that wakes one session at a time, work that could overlap never
 * does. Here the first session in its order uses its engine, and each further one, in this order,
 * an engine that is free. The GPU decides what can overlap:
 *   - sessions share a context: copies in, copies out, and kernels as long as there is room;
 *   - contexts take turns by time: copies in, copies out, and kernels. A kernel does not wait for
 *     those of sessions behind its own, which go on beside it at half the speed, nor for those that
 *     are LAS_FILL_SHORTER times as long: it would take long until they are over, and delays them
 *     little;
 *   - contexts take turns when kernels are over: copies in, copies out, and one session's kernels;
 *   - copies of a context do not run beside another one's kernels: nothing.
 * And unless contexts take turns by time,
 *   - a session that waits for an engine keeps those behind it from it (copies always);
 *   - a session does not fill up an engine for LAS_FILL_LONGER times as long as a session before it
 *     uses its own now, if that one uses this engine too: it would soon wait for it. (A program of
 *     short copies and kernels would else find a long kernel of another one behind each copy.)
 *   - a session waits for one before it that is about to come back and would wait for it for much
 *     longer than that takes (fill_awaits), so that the GPU may be idle for a moment.
 * A session keeps its engine for a slice, and while it pauses for a little (sched_hold_ns).
 *
 * Reads: wants, busy, demand; attained service. How long a session uses an engine is its service
 * there by its turns. Starvation: as las_fcfs; a turn is for one engine here. Bad: for fairness
 * between tenants. */
#include <math.h>

#include "sched/history.h"
#include "sched/next/next.h"

#define LAS_FILL_LONGER  8.0  /* 4 to 16 do nearly as well in the simulator */
#define LAS_FILL_SHORTER 4.0  /* 2 to 8 do nearly as well */
#define LAS_FILL_AWAITED 16.0 /* 4 does nearly as well; with 64 it hardly ever waits */
#define LAS_FILL_TIMES   10u  /* as many turns as LAS_FCFS_TIMES */

struct fill_session {
    uint8_t engines; /* GPU_ENGINE_BIT of those that it has asked for last */
    bool looked_at;  /* this decision has come to it */
    bool aged;       /* it has its turn because too many have passed it */
};

static struct fill_session *fill_own(const struct sched *sched, const struct sched_session *session)
{
    return sched_own_session(sched, (uint32_t)(session - sched->sessions));
}

struct fill {
    struct sched *sched;
    uint64_t now;
    bool slices;     /* kernels of several contexts go on at a time, by slices */
    unsigned copies; /* engines that are in use */
    uint32_t room_ppm;
    unsigned kept; /* for one that waits */
};

#define FILL_COPIES  (GPU_ENGINE_BIT(GPU_H2D) | GPU_ENGINE_BIT(GPU_D2H))
#define FILL_KERNELS GPU_ENGINE_BIT(GPU_COMPUTE)

/* The engines that such work keeps from others: with one copy engine, copies of both directions
 * want it. */
static unsigned fill_engines(const struct fill *fill, unsigned engines)
{
    const struct sched_gpu *gpu = &fill->sched->gpu;
    if (engines != 0 && !gpu->side_by_side && !gpu->copies_overlap) {
        return FILL_COPIES | FILL_KERNELS;
    }
    bool one = gpu->copy_engines == 1 && (engines & FILL_COPIES) != 0;
    return engines | (one ? FILL_COPIES : 0);
}

/* The session has been passed over so often that it goes first, or it has its turn for this
 * reason. */
static bool fill_aged(const struct fill *fill, const struct sched_session *session)
{
    uint64_t passed_max = (uint64_t)fill->sched->settings.las_passed_max * LAS_FILL_TIMES;
    return session->woken ? fill_own(fill->sched, session)->aged
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
    const int compared = a_aged ? 0 : sched_history_compare(a_tenant, b_tenant);
    return compared != 0 ? compared < 0 : a->joined_order < b->joined_order;
}

static void fill_use(struct fill *fill, const struct sched_session *session, unsigned engines)
{
    fill->copies |= engines & FILL_COPIES;
    if ((engines & FILL_KERNELS) != 0) {
        bool shares = fill->sched->gpu.side_by_side;
        uint32_t demand_ppm = shares ? session->request.demand_ppm : fill->room_ppm;
        fill->room_ppm -= demand_ppm < fill->room_ppm ? demand_ppm : fill->room_ppm;
    }
}

/* For how long it uses one of the engines, about; 0: not known. */
static double fill_length(const struct fill *fill, const struct sched_session *session,
                          unsigned engines)
{
    uint64_t most = 0;
    for (int i = 0; i < GPU_ENGINES; i++) {
        if ((engines & GPU_ENGINE_BIT(i)) != 0 && session->attained_ns[i] > most) {
            most = session->attained_ns[i];
        }
    }
    uint64_t turns = session->turns;
    turns -= turns != 0 && session->turn_began == fill->now ? 1 : 0; /* one begins */
    return turns != 0 ? (double)most / (double)turns : 0;
}

/* Slices: whether its kernel is to wait for that of a session before it. */
static bool fill_kernel_waits(const struct fill *fill, uint32_t slot)
{
    const struct sched *sched = fill->sched;
    const struct sched_session *session = &sched->sessions[slot];
    const double length = fill_length(fill, session, FILL_KERNELS);
    sched_each (sched, i) {
        const struct sched_session *other = &sched->sessions[i];
        const unsigned engines =
            other->request.busy | (other->woken ? fill_own(sched, other)->engines : 0u);
        bool shorter =
            length > 0 && length * LAS_FILL_SHORTER <= fill_length(fill, other, FILL_KERNELS);
        if (i != slot && (engines & FILL_KERNELS) != 0 && fill_before(fill, other, session) &&
            !shorter) {
            return true;
        }
    }
    return false;
}

/* Whether it may use these engines besides. */
static bool fill_is_free(const struct fill *fill, uint32_t slot, unsigned more)
{
    bool waits = fill->slices ? fill_kernel_waits(fill, slot) : fill->room_ppm == 0;
    return (more & fill->copies) == 0 && ((more & FILL_KERNELS) == 0 || !waits);
}

/* Whether a session before it would soon wait for it. */
static bool fill_delays(const struct fill *fill, const struct sched_session *session)
{
    const struct sched *sched = fill->sched;
    if (fill->slices) {
        return false;
    }
    const unsigned engines = fill_engines(fill, fill_own(sched, session)->engines);
    const double length = fill_length(fill, session, engines);
    for (uint32_t i = 0; i < sched->awake_count; i++) {
        const struct sched_session *other = &sched->sessions[sched->awake[i].slot];
        const unsigned others = fill_engines(fill, fill_own(sched, other)->engines);
        if ((others & engines) == 0 && fill_length(fill, other, engines) > 0 &&
            fill_before(fill, other, session) &&
            length > LAS_FILL_LONGER * fill_length(fill, other, others)) {
            return true;
        }
    }
    return false;
}

/* Whether a session before it is about to come back, and would wait for long: it pauses, mostly for
 * less than LAS_FILL_AWAITED-th of what this one begins; it uses as little of an engine, but not
 * less than such a part of its pause. Pauses end within twice their average, mostly. */
static bool fill_awaits(const struct fill *fill, const struct sched_session *session, unsigned more)
{
    struct sched *sched = fill->sched;
    if (fill->slices || (sched->gpu.side_by_side && (more & FILL_KERNELS) == 0)) {
        return false;
    }
    const double length = fill_length(fill, session, more);
    sched_each (sched, slot) {
        const struct sched_session *other = &sched->sessions[slot];
        const double pause = other->pauses_ns[other->worked];
        const double needs = fill_length(fill, other, FILL_COPIES | FILL_KERNELS);
        if (other->idle_since == SCHED_NEVER || other->capped || pause <= 0 ||
            fmax(pause, needs) * LAS_FILL_AWAITED > length || needs * LAS_FILL_AWAITED < pause ||
            !fill_before(fill, other, session)) {
            continue;
        }
        const uint64_t until = other->idle_since + (uint64_t)(2 * pause);
        if (until > fill->now) {
            sched_again(sched, until);
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
        const struct sched_session *session = &sched->sessions[slot];
        struct fill_session *own = fill_own(sched, session);
        const unsigned asks = session->request.wants | session->request.busy;
        bool same = (asks & ~(unsigned)own->engines) == 0;
        own->engines = asks != 0 ? (uint8_t)asks : own->engines;
        if (session->awake && same && (session->ready || sched_held(sched, slot, fill->now)) &&
            fill->now - session->turn_began < sched->settings.slice_ns) {
            sched_wake(sched, slot, SCHED_NEVER, 0);
            fill_use(fill, session, fill_engines(fill, own->engines));
            if (!session->ready) {
                sched_again(sched, session->idle_since + sched_hold_ns(sched, slot));
            }
        } else {
            fill_use(fill, session, fill_engines(fill, session->request.busy));
        }
        own->looked_at = session->woken || !session->ready || session->request.wants == 0;
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
            if (!fill_own(sched, session)->looked_at &&
                (next == SCHED_NONE || fill_before(fill, session, &sched->sessions[next]))) {
                next = slot;
            }
        }
        if (next == SCHED_NONE) {
            return waits;
        }
        const struct sched_session *session = &sched->sessions[next];
        struct fill_session *own = fill_own(sched, session);
        const unsigned engines = fill_engines(fill, own->engines);
        const unsigned more = engines & ~fill_engines(fill, session->request.busy);
        own->looked_at = true;
        if ((engines & fill->kept) == 0 && fill_is_free(fill, next, more) &&
            !fill_delays(fill, session) && !fill_awaits(fill, session, more)) {
            own->aged = fill_aged(fill, session);
            sched_wake(sched, next, SCHED_NEVER, 0);
            fill_use(fill, session, more);
        } else {
            waits = true;
            fill->kept |= fill->slices ? engines & FILL_COPIES : engines;
        }
    }
}

static void las_fill_decide(struct sched *sched, uint64_t now)
{
    const struct sched_gpu *gpu = &sched->gpu;
    struct fill fill = {.sched = sched,
                        .now = now,
                        .slices = gpu->slices && gpu->copies_overlap && !gpu->side_by_side,
                        .room_ppm = 1000000};
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

static void las_fill_join(struct sched *sched, uint32_t slot)
{
    *fill_own(sched, &sched->sessions[slot]) = (struct fill_session){.engines = 0};
}

const struct sched_policy sched_policy_las_fill = {
    .name = "las_fill",
    .summary = "las_fcfs, and other sessions use the engines that are free",
    .holds_little = true,
    .uses = SCHED_USES_LAS,
    .session_bytes = sizeof(struct fill_session),
    .decide = las_fill_decide,
    .join = las_fill_join,
};
