/* SPDX-License-Identifier: Apache-2.0 */
/* Phase Selection (Strings IV-B3): wakes sessions that are in different phases, so that kernels and
 * copies of both directions overlap.
 *   1. one session of each of KL, H2D, D2H, the one that waits longest in it;
 *   2. what is left of the places (compute and copy engines) is filled with KL, then H2D and D2H as
 *      equals, then DFL;
 *   3. (ours) KL sessions whose kernels leave room on the GPU: as many as it has places for.
 * With one copy engine, step 1 takes one copy of either direction (ours).
 * A session that is awake goes to the end of the queue of its phase after a slice.
 *
 * ps_bandwidth (ours): a second KL session is woken only if the bandwidth of those awake stays
 * within bandwidth_percent of the GPU's; a place that stays free so goes to the next phase.
 *
 * Reads: wants, busy, phase, demand; copy engines; ps_bandwidth: bandwidth of sessions and GPU.
 * Starvation: step 2 prefers KL; a session goes first when passed_max turns have passed it (ours;
 * turns of those awake begin at least each slice and operation). Bad: for fairness between tenants;
 * PS gains only where several sessions share one context (packing), because contexts do not run
 * side by side. */
#include <stdio.h>

#include "sched/next/next.h"

/* A session: the phase it is in, and its place in the queue of that. */
struct ps_session {
    enum gpu_phase phase;
    uint64_t phase_since;
    bool aged; /* it has its turn because too many have passed it */
};

static struct ps_session *ps_own(const struct sched *sched, uint32_t slot)
{
    return sched_own_session(sched, slot);
}

struct ps_choice {
    struct sched *sched;
    bool bandwidth; /* ps_bandwidth */
    uint32_t places, chosen;
    uint64_t demand_ppm, bandwidth_used; /* of the KL sessions that are chosen */
    bool kernels;                        /* there is one */
};

#define PS_BIT(phase) (1u << (phase))
#define PS_COPIES     (PS_BIT(GPU_PHASE_H2D) | PS_BIT(GPU_PHASE_D2H))

/* A session that begins a phase, or has had a slice in it, is the last in its queue. */
static void ps_queue(struct sched *sched, uint64_t now)
{
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        struct ps_session *own = ps_own(sched, slot);
        bool had_slice = session->awake && now - session->turn_began >= sched->settings.slice_ns;
        if (!session->ready) {
            own->phase_since = SCHED_NEVER;
            own->aged = false;
        } else if (own->phase_since == SCHED_NEVER || own->phase != session->request.phase ||
                   had_slice) {
            own->phase = session->request.phase;
            own->phase_since = now;
            own->aged = false;
        }
    }
}

static bool ps_bandwidth_fits(const struct ps_choice *choice, uint32_t slot)
{
    const struct sched *sched = choice->sched;
    const struct sched_session *session = &sched->sessions[slot];
    double room = (double)sched->gpu.bandwidth * sched->settings.bandwidth_percent / 100;
    return !choice->bandwidth || ps_own(sched, slot)->phase != GPU_PHASE_KL || !choice->kernels ||
           (double)choice->bandwidth_used + (double)session->request.bandwidth <= room;
}

static bool ps_before(const struct ps_session *a, const struct ps_session *b)
{
    return a->phase_since < b->phase_since; /* equals: the lower slot, which comes first */
}

static void ps_take(struct ps_choice *choice, uint32_t slot)
{
    const struct sched_session *session = &choice->sched->sessions[slot];
    sched_wake(choice->sched, slot, SCHED_NEVER, 0);
    choice->chosen++;
    if (ps_own(choice->sched, slot)->phase == GPU_PHASE_KL) {
        choice->kernels = true;
        choice->demand_ppm += session->request.demand_ppm;
        choice->bandwidth_used += session->request.bandwidth;
    }
}

/* Wakes the session that waits longest in one of the phases and is not woken yet, if its demand and
 * bandwidth fit. */
static bool ps_take_first(struct ps_choice *choice, unsigned phases, uint64_t demand_room)
{
    struct sched *sched = choice->sched;
    uint32_t first = SCHED_NONE;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->ready && !session->woken &&
            (PS_BIT(ps_own(sched, slot)->phase) & phases) != 0 &&
            session->request.demand_ppm <= demand_room && ps_bandwidth_fits(choice, slot) &&
            (first == SCHED_NONE || ps_before(ps_own(sched, slot), ps_own(sched, first)))) {
            first = slot;
        }
    }
    if (first == SCHED_NONE) {
        return false;
    }
    ps_take(choice, first);
    return true;
}

/* Those that too many turns have passed, the most often passed first; before them those that have
 * their turn for this reason. Turns that begin at this time do not count yet: the decision would
 * not be the same if it were asked for again. */
static void ps_take_aged(struct ps_choice *choice, uint64_t now)
{
    struct sched *sched = choice->sched;
    while (choice->chosen < choice->places) {
        uint32_t first = SCHED_NONE;
        uint32_t most = 0;
        sched_each (sched, slot) {
            const struct sched_session *session = &sched->sessions[slot];
            uint32_t passed = sched_passed(session, now);
            passed = ps_own(sched, slot)->aged ? UINT32_MAX : passed;
            if (session->ready && !session->woken && passed >= sched->settings.passed_max &&
                passed > most) {
                first = slot;
                most = passed;
            }
        }
        if (first == SCHED_NONE) {
            return;
        }
        ps_take(choice, first);
        ps_own(sched, first)->aged = true;
    }
}

static bool ps_has(const struct ps_choice *choice, unsigned phases)
{
    const struct sched *sched = choice->sched;
    for (uint32_t i = 0; i < sched->awake_count; i++) {
        if ((PS_BIT(ps_own(sched, sched->awake[i].slot)->phase) & phases) != 0) {
            return true;
        }
    }
    return false;
}

static void ps_choose(struct ps_choice *choice, uint64_t now)
{
    const unsigned each[] = {PS_BIT(GPU_PHASE_KL), PS_BIT(GPU_PHASE_H2D), PS_BIT(GPU_PHASE_D2H)};
    const unsigned either[] = {PS_BIT(GPU_PHASE_KL), PS_COPIES};
    const unsigned fill[] = {PS_BIT(GPU_PHASE_KL), PS_COPIES, PS_BIT(GPU_PHASE_DFL)};
    bool two = choice->sched->gpu.copy_engines == 2;
    const unsigned *kinds = two ? each : either;
    ps_take_aged(choice, now);
    for (size_t i = 0; i < (two ? 3u : 2u) && choice->chosen < choice->places; i++) {
        if (!ps_has(choice, kinds[i])) {
            ps_take_first(choice, kinds[i], UINT64_MAX);
        }
    }
    for (size_t i = 0; i < 3 && choice->chosen < choice->places; i++) {
        while (choice->chosen < choice->places && ps_take_first(choice, fill[i], UINT64_MAX)) {
        }
    }
    while (choice->kernels && choice->demand_ppm < 1000000 &&
           ps_take_first(choice, PS_BIT(GPU_PHASE_KL), 1000000 - choice->demand_ppm)) {
    }
}

/* Turns end after a slice if somebody waits for them. */
static void ps_turns(struct sched *sched, uint64_t now)
{
    bool others = false;
    sched_each (sched, slot) {
        others = others || (sched->sessions[slot].ready && !sched->sessions[slot].woken);
    }
    for (uint32_t i = 0; i < sched->awake_count; i++) {
        struct sched_awake *awake = &sched->awake[i];
        struct sched_session *session = &sched->sessions[awake->slot];
        if (!session->awake || session->turn_began < ps_own(sched, awake->slot)->phase_since) {
            sched_turn_begins(sched, awake->slot, now);
        }
        if (others) {
            awake->until = session->turn_began + sched->settings.slice_ns;
            sched_again(sched, awake->until);
        }
    }
}

static void ps_decide_with(struct sched *sched, bool bandwidth, uint64_t now)
{
    struct ps_choice choice = {
        .sched = sched, .bandwidth = bandwidth, .places = 1 + sched->gpu.copy_engines};
    ps_queue(sched, now);
    ps_choose(&choice, now);
    ps_turns(sched, now);
}

static void ps_decide(struct sched *sched, uint64_t now)
{
    ps_decide_with(sched, false, now);
}

static void ps_bandwidth_decide(struct sched *sched, uint64_t now)
{
    ps_decide_with(sched, true, now);
}

static void ps_join(struct sched *sched, uint32_t slot)
{
    *ps_own(sched, slot) = (struct ps_session){.phase_since = SCHED_NEVER};
}

static enum ga_status ps_bandwidth_check(const struct sched_settings *settings,
                                         const struct sched_gpu *gpu, char *why, size_t why_room)
{
    (void)settings;
    if (gpu->bandwidth == 0) {
        snprintf(why, why_room,
                 "ps_bandwidth needs the bandwidth of the GPU's memory, "
                 "which is not known");
        return GA_UNSUPPORTED;
    }
    return GA_OK;
}

const struct sched_policy sched_policy_ps = {
    .name = "ps",
    .summary = "phase selection: sessions in different phases work side by side",
    .uses = SCHED_USES(SLICE) | SCHED_USES(PASSED_MAX),
    .session_bytes = sizeof(struct ps_session),
    .decide = ps_decide,
    .join = ps_join,
};

const struct sched_policy sched_policy_ps_bandwidth = {
    .name = "ps_bandwidth",
    .summary = "phase selection that keeps kernels apart which want the memory's bandwidth",
    .uses = SCHED_USES(SLICE) | SCHED_USES(PASSED_MAX) | SCHED_USES(BANDWIDTH_PERCENT),
    .session_bytes = sizeof(struct ps_session),
    .check = ps_bandwidth_check,
    .decide = ps_bandwidth_decide,
    .join = ps_join,
};
