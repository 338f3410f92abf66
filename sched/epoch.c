/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/epoch.h"

#include <math.h>

#include "base/clock.h"
#include "sched/turn.h"

/* As long as it takes to wake another session (gpuaasd: tens of us): waiting so long before a
 * switch loses at most twice of what is lost if the length of the pause is known. */
#define EPOCH_HAND_OVER_NS (100 * GA_NS_PER_US)
/* A tenant is not expected after so many times its usual pause. */
#define EPOCH_PAUSES 2
/* Nor if its pause is more than so many times what it uses (it wants 10 %), unless others owe it so
 * many pauses. */
#define EPOCH_PAUSE_WORK  9
#define EPOCH_DEBT_PAUSES 8

static struct sched_epoch_tenant *epoch_of(const struct sched *sched, uint32_t row)
{
    return sched_own_tenant(sched, row);
}

static struct sched_epoch_gpu *epoch_gpu(const struct sched *sched)
{
    return sched_own_gpu(sched);
}

/* The session of the tenant that has work and has not been served for the longest time; else one
 * that is about to have some. */
static uint32_t tenant_next_session(const struct sched *sched, uint32_t tenant, uint64_t now)
{
    uint32_t next = SCHED_NONE;
    sched_each (sched, slot) {
        const struct sched_session *session = &sched->sessions[slot];
        if (session->tenant != tenant || (!session->ready && !sched_held(sched, slot, now))) {
            continue;
        }
        const struct sched_session *best = next == SCHED_NONE ? NULL : &sched->sessions[next];
        if (best == NULL || (session->ready && !best->ready) ||
            (session->ready == best->ready && session->order < best->order)) {
            next = slot;
        }
    }
    return next;
}

/* Whether the tenant has no work, and most of its pauses are no longer; and it uses enough of the
 * GPU for the others to wait, or is owed enough. */
static bool tenant_is_expected(const struct sched *sched, uint32_t row, uint64_t now)
{
    const struct sched_tenant *tenant = &sched->tenants[row];
    return tenant->working == 0 && tenant->idle_since != SCHED_NEVER && tenant->pause_ns > 0 &&
           (tenant->pause_ns <= EPOCH_PAUSE_WORK * tenant->work_ns ||
            epoch_of(sched, row)->is_owed) &&
           (double)(now - tenant->idle_since) < EPOCH_PAUSES * tenant->pause_ns;
}

/* Accounts for the turn that is over. A tenant that was alone for a part of it has taken that time
 * from nobody until others wanted it, and owes the rest; then a new epoch begins. */
static void epoch_settle(struct sched *sched, bool debts, uint64_t now)
{
    const struct sched_turn *turn = &sched->turn;
    struct sched_tenant *tenant = &sched->tenants[sched->kept_tenant];
    struct sched_epoch_tenant *own = epoch_of(sched, sched->kept_tenant);
    epoch_gpu(sched)->settles = false;
    if (turn->alone) {
        for (uint32_t row = 0; row < sched->tenant_count; row++) {
            epoch_of(sched, row)->due = 0;
        }
        double wanted_ns =
            turn->wanted_since == SCHED_NEVER ? 0 : (double)(now - turn->wanted_since);
        tenant->debt += debts ? fmin(turn->used, wanted_ns) : 0;
        return;
    }
    double spent = fmax(turn->used, (double)(now - turn->began));
    own->due = fmax(0, turn->length - spent); /* for another session of the tenant */
    tenant->debt = debts ? fmax(0, turn->used - turn->length) : 0;
}

/* The tenant whose turn is next: first the one of the last turn, with what it has left over. */
static uint32_t epoch_next_tenant(struct sched *sched, uint64_t now)
{
    for (uint32_t i = 0; i < sched->tenant_count; i++) {
        uint32_t row = (sched->kept_tenant + i) % sched->tenant_count;
        if (epoch_of(sched, row)->due > 0 && tenant_next_session(sched, row, now) != SCHED_NONE) {
            return row;
        }
    }
    return SCHED_NONE;
}

/* The largest debt among the tenants with work. */
static double epoch_owed(const struct sched *sched, uint64_t now)
{
    double owed = 0;
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        if (tenant_next_session(sched, row, now) != SCHED_NONE) {
            owed = fmax(owed, sched->tenants[row].debt);
        }
    }
    return owed;
}

/* Computes the part of each tenant that has work, or will have some before the others have paid
 * what they owe. */
static void epoch_begin(struct sched *sched, uint64_t now)
{
    double weights = 0, owed = epoch_owed(sched, now);
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        const struct sched_tenant *tenant = &sched->tenants[row];
        struct sched_epoch_tenant *own = epoch_of(sched, row);
        bool has_work = tenant_next_session(sched, row, now) != SCHED_NONE;
        own->due = 0;
        own->sits_out = false;
        own->is_owed = tenant->pause_ns > 0 &&
                       owed >= tenant->pause_ns * (own->is_owed ? 1 : EPOCH_DEBT_PAUSES);
        if (has_work || (tenant->pause_ns <= owed && tenant_is_expected(sched, row, now))) {
            own->due = (double)sched->settings.epoch_ns * tenant->weight;
            weights += tenant->weight;
        }
    }
    /* Epochs in which all of them sit out are none. */
    double skipped = INFINITY;
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        struct sched_epoch_tenant *own = epoch_of(sched, row);
        if (own->due > 0) {
            own->due /= weights;
            skipped = fmin(skipped, floor(sched->tenants[row].debt / own->due));
        }
    }
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        struct sched_tenant *tenant = &sched->tenants[row];
        struct sched_epoch_tenant *own = epoch_of(sched, row);
        if (own->due > 0) {
            tenant->debt -= skipped * own->due;
            double slice = own->due - tenant->debt;
            tenant->debt -= slice > 0 ? 0 : own->due;
            own->sits_out = slice <= 0;
            own->due = fmax(0, slice);
        }
    }
}

/* The session of the turn pauses, and another one of its tenant has work. The rest of the turn is
 * the tenant's, so nobody gains if it is held for the first one: it ends then. SCHED_NEVER: that is
 * not so. */
static uint64_t epoch_hands_over_at(const struct sched *sched, uint64_t now)
{
    uint32_t slot = sched->turn.slot;
    if (slot == SCHED_NONE || sched->sessions[slot].idle_since == SCHED_NEVER) {
        return SCHED_NEVER;
    }
    uint32_t next = tenant_next_session(sched, sched->sessions[slot].tenant, now);
    return next != SCHED_NONE && sched->sessions[next].ready
               ? sched->sessions[slot].idle_since + EPOCH_HAND_OVER_NS
               : SCHED_NEVER;
}

/* While the GPU has waited for a tenant, its turn has gone by: pauses count in a turn's length. */
static void epoch_note_waiting(struct sched *sched, uint64_t now)
{
    struct sched_epoch_gpu *gpu = epoch_gpu(sched);
    double waited_ns = gpu->waits_since == SCHED_NEVER ? 0 : (double)(now - gpu->waits_since);
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        struct sched_epoch_tenant *own = epoch_of(sched, row);
        double went_by_ns = fmin(own->due, waited_ns);
        own->due -= went_by_ns;
        waited_ns -= went_by_ns;
    }
    gpu->waits_since = SCHED_NEVER;
}

/* Whether the GPU waits: all that have work sit out, and one that is due a turn comes back soon. */
static bool epoch_waits(struct sched *sched, uint64_t now)
{
    uint32_t expected = SCHED_NONE;
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        const struct sched_epoch_tenant *own = epoch_of(sched, row);
        bool has_work = tenant_next_session(sched, row, now) != SCHED_NONE;
        if (has_work && !own->sits_out) {
            return false;
        }
        if (!has_work && own->due > 0 && tenant_is_expected(sched, row, now)) {
            expected = row;
        }
    }
    if (expected == SCHED_NONE) {
        return false;
    }
    const struct sched_tenant *tenant = &sched->tenants[expected];
    epoch_gpu(sched)->waits_since = now;
    sched_again(sched, now + (uint64_t)ceil(epoch_of(sched, expected)->due));
    sched_again(sched, tenant->idle_since + (uint64_t)ceil(EPOCH_PAUSES * tenant->pause_ns));
    return true;
}

void sched_epoch_decide(struct sched *sched, bool debts, uint64_t now)
{
    uint64_t hands_over_at = epoch_hands_over_at(sched, now);
    enum sched_turn_state state = sched_turn_check(sched, now >= hands_over_at, now);
    if (state == SCHED_TURN_GOES_ON) {
        sched_again(sched, hands_over_at);
    }
    if (state != SCHED_TURN_FREE) {
        return;
    }
    uint32_t from = sched->kept_tenant;
    sched->kept_tenant = from == SCHED_NONE ? 0 : from;
    if (epoch_gpu(sched)->settles) {
        epoch_settle(sched, debts, now);
    }
    epoch_note_waiting(sched, now);
    uint32_t next = epoch_next_tenant(sched, now);
    if (next == SCHED_NONE && !epoch_waits(sched, now)) {
        epoch_begin(sched, now);
        /* The order goes on behind the last turn. */
        sched->kept_tenant = from == SCHED_NONE ? 0 : (from + 1) % sched->tenant_count;
        next = epoch_next_tenant(sched, now);
        (void)(next == SCHED_NONE && epoch_waits(sched, now));
    }
    sched->kept_tenant = next == SCHED_NONE ? from : next;
    if (next != SCHED_NONE) {
        epoch_gpu(sched)->settles = true;
        sched_turn_start(sched, tenant_next_session(sched, next, now), epoch_of(sched, next)->due,
                         now);
    }
}

void sched_epoch_reset(struct sched *sched, uint64_t now)
{
    sched_turn_reset(sched, now);
    sched->kept_tenant = SCHED_NONE;
    *epoch_gpu(sched) = (struct sched_epoch_gpu){.waits_since = SCHED_NEVER};
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        epoch_of(sched, row)->due = 0;
    }
}
