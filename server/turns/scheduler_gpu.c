/* SPDX-License-Identifier: Apache-2.0 */
#include "server/turns/scheduler_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "server/usage/seat_use.h"
#include "server/usage/time_shares.h"

#define DEMAND_NS_MIN   (10 * GA_NS_PER_MS) /* of kernels, before their demand is known */
#define DEMAND_STEP_PPM 10000u
#define RECENT_NS       1e9 /* of kernels, which say what they demand */

/* A policy does not make it spin. */
#define AGAIN_NS_MIN  (20 * GA_NS_PER_US)
#define DECISIONS_MAX 4u

/* The engines for which a session in this phase has work. */
static uint8_t wants_of(enum gpu_phase phase)
{
    return (uint8_t)(phase == GPU_PHASE_DFL ? 0 : GPU_ENGINE_BIT(gpu_engine_of(phase)));
}

static uint64_t sooner(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

static bool gpu_is_free(const struct scheduler_gpu *gpu)
{
    return gpu->settings.policy == sched_policy_at(0);
}

/* ---- what a session says: a stranger's numbers, copied once */

/* NULL: it has not used the GPU. */
static const struct gpu_figures *gpu_row_of(const struct scheduler_member *member)
{
    for (unsigned i = 0; i < FIGURES_GPUS; i++) {
        const struct gpu_figures *row = &member->figures->gpus[i];
        uint64_t gpu = atomic_load_explicit(&row->gpu, memory_order_relaxed);
        if (gpu == member->ordinal + UINT64_C(1)) {
            return row;
        }
        if (gpu == 0) {
            break;
        }
    }
    return NULL;
}

static void engine_charge(struct scheduler_member *member, enum gpu_engine engine, uint64_t ns,
                          uint64_t now)
{
    if (ns != 0) {
        member->charged_ns[engine] += ns;
        sched_charge(member->gpu->sched, member->slot, engine, ns, now);
    }
}

static uint64_t less(uint64_t from, uint64_t what)
{
    return from - (from < what ? from : what);
}

/* The most that its kernels have filled of the time that they have got: of finished ones, as the
 * meter says, no matter which others had that time, too; of running ones, all. */
static uint64_t member_filled_ns(const struct scheduler_member *member,
                                 const struct gpu_figures *row)
{
    uint64_t got_ns = member->charged_ns[GPU_COMPUTE];
    uint64_t had_ns = less(atomic_load_explicit(&row->busy_ns[GPU_COMPUTE], memory_order_relaxed),
                           member->before_ns[GPU_COMPUTE]);
    uint64_t done_ns =
        less(atomic_load_explicit(&row->done_ns, memory_order_relaxed), member->before_done_ns);
    uint64_t demand_ns =
        less(atomic_load_explicit(&row->demand_ns, memory_order_relaxed), member->before_demand_ns);
    uint64_t runs_ns = less(had_ns > got_ns ? had_ns : got_ns, done_ns);
    return demand_ns < less(got_ns, runs_ns) ? demand_ns + runs_ns : got_ns;
}

/* Kernels have got so much more of the engine. */
static void kernels_charge(struct scheduler_member *member, const struct gpu_figures *row,
                           uint64_t ns, uint64_t now)
{
    member->charged_ns[GPU_COMPUTE] += ns;
    uint64_t filled_ns = member_filled_ns(member, row);
    double more_ns = (double)filled_ns - (double)member->filled_ns;
    member->filled_ns = filled_ns;
    if (ns == 0 && more_ns == 0) {
        return;
    }
    sched_charge_kernels(member->gpu->sched, member->slot, ns, more_ns, now);
    member->recent_ns += (double)ns;
    member->recent_filled_ns = fmax(0, member->recent_filled_ns + more_ns);
    double fade = fmin(1, RECENT_NS / fmax(1, member->recent_ns));
    member->recent_ns *= fade;
    member->recent_filled_ns *= fade;
}

/* The recent demand of its kernels on the GPU, as soon as it is known; in steps, so that it seldom
 * changes. */
static void member_demand(struct scheduler_member *member, const struct gpu_figures *row)
{
    uint64_t copied[2], any_ns = atomic_load_explicit(&row->busy_any_ns, memory_order_relaxed);
    if (member->recent_ns < DEMAND_NS_MIN) {
        return;
    }
    double percent = ceil(100.0 * member->recent_filled_ns / member->recent_ns);
    for (unsigned i = 0; i < 2; i++) {
        copied[i] = atomic_load_explicit(&row->copied_bytes[i], memory_order_relaxed);
    }
    member->asks.demand_ppm = DEMAND_STEP_PPM * (uint32_t)fmax(1, fmin(percent, 100));
    member->asks.bandwidth = seat_use_bandwidth(copied, any_ns);
}

/* Since it came, as of now. */
static double member_got_ns(const struct scheduler_member *member, unsigned engine,
                            uint64_t busy_ns)
{
    const struct scheduler_part *part = &member->parts[engine];
    uint64_t before_ns = part->known ? part->had_ns : member->before_ns[engine];
    double more_ns = busy_ns > before_ns ? (double)(busy_ns - before_ns) : 0;
    return part->known ? part->got_ns - part->from_ns + more_ns * part->part : more_ns;
}

void scheduler_gpu_share(struct scheduler_member *member, const struct time_share *share)
{
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        struct scheduler_part *part = &member->parts[i];
        uint64_t had_ns = share->had_ns[i];
        double got_ns = share->engine_ns[i];
        if (!part->known) {
            part->from_ns = got_ns - member_got_ns(member, i, had_ns);
            part->part = 1;
        } else if (had_ns > part->had_ns) {
            part->part = (got_ns - part->got_ns) / (double)(had_ns - part->had_ns);
        }
        part->known = true;
        part->had_ns = had_ns;
        part->got_ns = got_ns;
    }
}

/* No engine has worked for longer than the session is here. */
static void member_charge(struct scheduler_member *member, uint64_t now)
{
    const struct gpu_figures *row = gpu_row_of(member);
    if (row == NULL) {
        return;
    }
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        uint64_t most = now - member->joined_ns, before = member->charged_ns[i];
        double got =
            member_got_ns(member, i, atomic_load_explicit(&row->busy_ns[i], memory_order_relaxed));
        uint64_t said = got > 0 ? (got < (double)most ? (uint64_t)got : most) : 0;
        if (i == GPU_COMPUTE) {
            kernels_charge(member, row, less(said, before), now);
        } else {
            engine_charge(member, (enum gpu_engine)i, less(said, before), now);
        }
    }
    member_demand(member, row);
}

/* Before a session returns a turn early, it has had nothing to do for as long as turns are held.
 * Nobody waits for one that has lost its turn. */
static uint64_t member_idle_ns(const struct scheduler_member *member, uint64_t now)
{
    return member->lost || now < member->until_ns ? member->hold_ns : 0;
}

/* Whether that is news to the policy. A session that has a turn is busy in it, also if it has been
 * granted in anticipation: it may have begun anything since. */
static bool member_ask(struct scheduler_member *member, enum gpu_phase phase, bool busy,
                       uint64_t now)
{
    struct sched_request asks = member->asks;
    member->phase = phase;
    asks.phase = phase;
    asks.wants = wants_of(phase);
    asks.busy = !busy ? 0 : phase == GPU_PHASE_DFL ? GPU_ENGINE_BIT(GPU_COMPUTE) : wants_of(phase);
    asks.idle_ns = member_idle_ns(member, now);
    if (asks.phase == member->asks.phase && asks.wants == member->asks.wants &&
        asks.busy == member->asks.busy) {
        return false;
    }
    member->asks = asks;
    sched_update(member->gpu->sched, member->slot, &asks, now);
    return true;
}

/* Takes the turn of a session that has kept the GPU from the others, or has tried to. */
static void member_lose(struct scheduler_member *member, uint64_t now)
{
    uint64_t kept_ns = now - member->until_ns;
    member->lost = true;
    member->charged_ns[GPU_COMPUTE] += kept_ns;
    member->filled_ns += kept_ns;
    sched_charge_kernels(member->gpu->sched, member->slot, kept_ns, (double)kept_ns, now);
    (void)member_ask(member, GPU_PHASE_DFL, false, now);
}

/* When its turn is lost, for all that is known now. */
static uint64_t member_loses_ns(const struct scheduler_member *member, uint64_t now)
{
    uint64_t looked = atomic_load_explicit(&member->request->looked_ns, memory_order_relaxed);
    uint64_t patience = member->gpu->settings.values.patience_ns, until = member->until_ns;
    looked = looked < now ? looked : now;
    looked = looked > until ? looked : until;
    return sooner(looked, until + patience) + SCHEDULER_PATIENCE_NS;
}

static void member_look(struct scheduler_member *member, uint64_t now)
{
    uint64_t word = atomic_load_explicit(&member->request->word, memory_order_acquire);
    bool returned = grant_turn(word) == member->turn;
    unsigned phase = grant_what(word) < GPU_PHASES ? grant_what(word) : GPU_PHASE_DFL;
    if (member->holds || member->lost) {
        member_charge(member, now);
    }
    if (member->holds && !returned) {
        if (!member->lost && member->until_ns != SCHED_NEVER && now >= member->until_ns &&
            now >= member_loses_ns(member, now)) {
            member_lose(member, now);
        }
        return;
    }
    member->holds = false;
    member->lost = false;
    (void)member_ask(member, returned ? (enum gpu_phase)phase : GPU_PHASE_DFL, false, now);
}

/* ---- grants */

static void member_hold(struct scheduler_member *member)
{
    member->hold_ns = sched_hold_ns(member->gpu->sched, member->slot);
    atomic_store_explicit(&member->grant->hold_ns, member->hold_ns, memory_order_relaxed);
}

static void member_write(struct scheduler_member *member, uint64_t until_ns, unsigned what)
{
    if (until_ns == member->until_ns && what == member->what) {
        return;
    }
    member->until_ns = until_ns;
    member->what = what;
    member->rings = true;
    atomic_store_explicit(&member->grant->until_ns, until_ns, memory_order_relaxed);
    atomic_store_explicit(&member->grant->word, grant_word(member->turn, what),
                          memory_order_release);
}

/* A session that runs beside others is granted only the phase that it asked for; its next phase
 * needs a new decision. */
static unsigned member_may(const struct scheduler_member *member, uint64_t until_ns,
                           bool beside_others)
{
    if (gpu_is_free(member->gpu)) { /* a cap ends by the clock, which a free session does not ask */
        return until_ns == SCHED_NEVER ? GRANT_ALL | GRANT_FREE : GRANT_ALL;
    }
    return beside_others && member->phase != GPU_PHASE_DFL ? 1u << member->phase : GRANT_ALL;
}

static void member_grant(struct scheduler_member *member, uint64_t until_ns, bool beside_others,
                         uint64_t now)
{
    unsigned alone = until_ns == SCHED_NEVER ? GRANT_ALONE : 0;
    if (!member->holds) {
        member->turn++;
        member->holds = true;
        member->what = 0;
        atomic_store_explicit(&member->grant->since_ns, now, memory_order_relaxed);
        member_hold(member);
    }
    member_write(member, until_ns, member_may(member, until_ns, beside_others) | alone);
}

/* Whether the policy has more to decide then. */
static bool gpu_grant(struct scheduler_gpu *gpu, const struct sched_decision *decision,
                      uint64_t now)
{
    bool news = false;
    ga_list_each (at, next, &gpu->members) {
        ga_container(at, struct scheduler_member, link)->awake = false;
    }
    for (uint32_t i = 0; i < decision->count; i++) {
        const struct sched_awake *awake = &decision->awake[i];
        struct scheduler_member *member = gpu->by_slot[awake->slot];
        member->awake = true;
        if (!member->lost) {
            member_grant(member, awake->until, decision->count > 1, now);
        }
    }
    ga_list_each (at, next, &gpu->members) {
        struct scheduler_member *member = ga_container(at, struct scheduler_member, link);
        if (!member->awake && member->holds && member->until_ns > now) {
            member_write(member, now, member->what & ~(GRANT_ALONE | GRANT_FREE));
        }
        if (member->holds && !member->lost) { /* for all that is known, until it returns the turn */
            news = member_ask(member, member->phase, true, now) || news;
        }
    }
    return news;
}

void scheduler_gpu_turn(struct scheduler_gpu *gpu, uint64_t now)
{
    ga_list_each (at, next, &gpu->members) {
        member_look(ga_container(at, struct scheduler_member, link), now);
    }
    bool news = true;
    for (unsigned i = 0; i < DECISIONS_MAX && news; i++) {
        const struct sched_decision decision = sched_decide(gpu->sched, now);
        gpu->decisions++;
        gpu->next_ns = decision.again;
        news = gpu_grant(gpu, &decision, now);
    }
    ga_list_each (at, next, &gpu->members) {
        const struct scheduler_member *member = ga_container(at, struct scheduler_member, link);
        if (member->holds && !member->lost && member->until_ns != SCHED_NEVER) {
            gpu->next_ns = sooner(gpu->next_ns, member_loses_ns(member, now));
        } else if (member->holds && !member->lost && !gpu_is_free(gpu)) { /* nobody rings */
            gpu->next_ns = sooner(gpu->next_ns, now + gpu->settings.values.quantum_ns);
        }
    }
    if (gpu->next_ns < now + AGAIN_NS_MIN) {
        gpu->next_ns = now + AGAIN_NS_MIN;
    }
}

/* ---- members come and go */

/* Room for one more slot of sched, whichever it gives. */
static enum ga_status slots_grow(struct scheduler_gpu *gpu, uint32_t slot)
{
    if (slot < gpu->slots) {
        return GA_OK;
    }
    uint32_t slots = slot < 8 ? 16 : 2 * slot;
    struct scheduler_member **grown = realloc(gpu->by_slot, slots * sizeof(void *));
    if (grown == NULL) {
        return GA_NO_MEMORY;
    }
    for (uint32_t i = gpu->slots; i < slots; i++) {
        grown[i] = NULL;
    }
    gpu->by_slot = grown;
    gpu->slots = slots;
    return GA_OK;
}

/* An earlier session of its place may not have returned its last turn; and this one may have begun
 * before there were turns. */
static void gpu_member_begin(struct scheduler_member *member, uint64_t now)
{
    const struct gpu_figures *row = gpu_row_of(member);
    for (unsigned i = 0; row != NULL && i < GPU_ENGINES; i++) {
        member->before_ns[i] = atomic_load_explicit(&row->busy_ns[i], memory_order_relaxed);
    }
    if (row != NULL) {
        member->before_demand_ns = atomic_load_explicit(&row->demand_ns, memory_order_relaxed);
        member->before_done_ns = atomic_load_explicit(&row->done_ns, memory_order_relaxed);
    }
    member->joined_ns = now;
    member->turn = grant_turn(atomic_load_explicit(&member->grant->word, memory_order_relaxed)) + 1;
    member->holds = true;
    member->lost = true;
    member->rings = true;
    atomic_store_explicit(&member->grant->word, grant_word(member->turn, 0), memory_order_release);
}

static void member_settings(struct scheduler_member *member)
{
    const struct sched_settings *values = &member->gpu->settings.values;
    atomic_store_explicit(&member->grant->horizon_ns, values->horizon_ns, memory_order_relaxed);
    member_hold(member);
    atomic_store_explicit(&member->grant->patience_ns, values->patience_ns, memory_order_relaxed);
}

enum ga_status scheduler_gpu_join(struct scheduler_gpu *gpu, struct scheduler_member *member,
                                  uint64_t now)
{
    GA_TRY(sched_join(gpu->sched, &member->asks, now, &member->slot));
    if (slots_grow(gpu, member->slot) != GA_OK) {
        sched_leave(gpu->sched, member->slot, now);
        return GA_NO_MEMORY;
    }
    gpu->by_slot[member->slot] = member;
    ga_list_append(&gpu->members, &member->link);
    member->gpu = gpu;
    gpu_member_begin(member, now);
    member_settings(member);
    return GA_OK;
}

void scheduler_gpu_leave(struct scheduler_member *member, uint64_t now)
{
    struct scheduler_gpu *gpu = member->gpu;
    member_charge(member, now); /* its last work, which nobody looks at any more */
    sched_leave(gpu->sched, member->slot, now);
    gpu->by_slot[member->slot] = NULL;
    ga_list_remove(&member->link);
}

void scheduler_gpu_terms(struct scheduler_member *member, const struct scheduler_terms *terms,
                         uint64_t now)
{
    member_charge(member, now); /* what it has used by now is not of a new cap */
    member->asks.weight = terms->weight;
    member->asks.priority = terms->priority;
    member->asks.cap_percent = terms->cap_percent;
    member->asks.throttle_percent = terms->throttle_percent;
    member->asks.goal_ns = terms->goal_ns;
    sched_update(member->gpu->sched, member->slot, &member->asks, now);
}

/* ---- settings */

enum ga_status scheduler_gpu_init(struct scheduler_gpu *gpu,
                                  const struct scheduler_settings *settings, uint64_t now)
{
    *gpu = (struct scheduler_gpu){.settings = *settings, .next_ns = SCHED_NEVER};
    ga_list_init(&gpu->members);
    return sched_create(&gpu->sched, settings->policy, &settings->values, &settings->gpu, now);
}

void scheduler_gpu_fini(struct scheduler_gpu *gpu)
{
    sched_destroy(gpu->sched);
    free(gpu->by_slot);
}

void scheduler_gpu_change(struct scheduler_gpu *gpu, const struct scheduler_settings *settings,
                          uint64_t now)
{
    ga_list_each (at, next, &gpu->members) { /* of the policy under which it was used */
        member_charge(ga_container(at, struct scheduler_member, link), now);
    }
    gpu->settings.policy = settings->policy;
    gpu->settings.values = settings->values;
    sched_change(gpu->sched, settings->policy, &settings->values, now);
    ga_list_each (at, next, &gpu->members) {
        member_settings(ga_container(at, struct scheduler_member, link));
    }
}
