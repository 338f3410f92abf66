/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions join and change what they ask for, and bring their tenants along.
 *
 * Note: a tenant's row outlives its sessions, so that nobody gets rid of a debt or a cap by a new
 * session; rows are used again, those that owe least first, and what they owe is kept (absent.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sched/absent.h"
#include "sched/own.h"
#include "sched/policy.h"

#define SCHED_ROOM_MIN 8u
/* Pauses end within so many times their average, mostly. */
#define HOLD_PAUSES 4
#define HOLD_LITTLE 2 /* a pause that is longer than hold_ns by this is not worth it (las_fill) */
#define HOLD_PART                                                                                  \
    20 /* of an epoch: a turn is held for no longer pauses, unless hold_ns says so                 \
        */

/* Room for `count` sessions and two more tenants: one that has none any more, and a new one. */
static enum ga_status sessions_reserve(struct sched *sched, uint32_t count)
{
    if (count <= sched->session_room) {
        return GA_OK;
    }
    uint32_t room = sched->session_room < SCHED_ROOM_MIN ? SCHED_ROOM_MIN : sched->session_room * 2;
    struct sched_session *sessions = reallocarray(sched->sessions, room, sizeof(*sessions));
    sched->sessions = sessions != NULL ? sessions : sched->sessions;
    struct sched_awake *awake = reallocarray(sched->awake, room, sizeof(*awake));
    sched->awake = awake != NULL ? awake : sched->awake;
    struct sched_tenant *tenants = reallocarray(sched->tenants, room + 2, sizeof(*tenants));
    sched->tenants = tenants != NULL ? tenants : sched->tenants;
    if (sessions == NULL || awake == NULL || tenants == NULL) {
        return GA_NO_MEMORY;
    }
    GA_TRY(sched_own_reserve(sched, room, room + 2));
    sched->session_room = room;
    sched->tenant_room = room + 2;
    return GA_OK;
}

/* The row of the tenant of this number; there is always one, for there are more than sessions. */
static uint32_t tenant_row(struct sched *sched, uint64_t number, uint64_t now)
{
    uint32_t free_row = SCHED_NONE;
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        struct sched_tenant *tenant = &sched->tenants[row];
        if (tenant->number == number) {
            return row;
        }
        if (tenant->sessions == 0 && row != sched->kept_tenant &&
            (free_row == SCHED_NONE ||
             sched_absent_owes(sched, tenant, now) <
                 sched_absent_owes(sched, &sched->tenants[free_row], now))) {
            free_row = row;
        }
    }
    if (sched->tenant_count < sched->tenant_room) {
        free_row = sched->tenant_count++;
    } else {
        sched_absent_keep(sched, &sched->tenants[free_row], now);
    }
    sched->tenants[free_row] = sched_absent_take(sched, number, now);
    sched_own_clear_tenant(sched, free_row);
    return free_row;
}

/* An average in which the last values count most. */
static void recent_note(double *recent, double value, bool first)
{
    *recent = first ? value : (3 * *recent + value) / 4;
}

/* A session has work now, or has had none since then. Turns are held anyway in pauses that are
 * short. */
static void tenant_note_work(const struct sched *sched, struct sched_tenant *tenant, bool has_work,
                             uint64_t since)
{
    tenant->working += has_work ? 1 : -1u;
    if (has_work && tenant->idle_since != SCHED_NEVER) {
        uint64_t pause_ns = since > tenant->idle_since ? since - tenant->idle_since : 0;
        if (pause_ns > sched->settings.hold_ns) {
            bool first = tenant->pause_ns <= 0;
            recent_note(&tenant->pause_ns, (double)pause_ns, first);
            recent_note(&tenant->work_ns, tenant->used_ns, first);
            tenant->used_ns = 0;
        }
        tenant->idle_since = SCHED_NEVER;
    } else if (tenant->working == 0) {
        tenant->idle_since = since;
    }
}

/* A session has or has no work from `since` on. The length of pauses in which gpuaasd keeps its
 * turn is not known: those that are noted are too long, until turns are not held any more. */
static void session_note_work(struct sched_session *session, bool has_work, uint64_t since)
{
    if (has_work && session->idle_since != SCHED_NEVER && session->turns != 0) {
        double *pause_ns = &session->pauses_ns[session->worked];
        recent_note(pause_ns, (double)(since - session->idle_since) + 1, *pause_ns <= 0);
    }
    if (has_work) {
        const unsigned asks = session->request.wants | session->request.busy;
        session->worked = (asks & GPU_ENGINE_BIT(GPU_COMPUTE)) != 0 ? GPU_COMPUTE
                          : (asks & GPU_ENGINE_BIT(GPU_H2D)) != 0   ? GPU_H2D
                                                                    : GPU_D2H;
    }
    session->idle_since = has_work ? SCHED_NEVER : since;
}

uint64_t sched_hold_ns(const struct sched *sched, uint32_t slot)
{
    const struct sched_session *session = &sched->sessions[slot];
    const struct sched_tenant *tenant = &sched->tenants[session->tenant];
    const struct sched_settings *settings = &sched->settings;
    if (sched->acting->holds_little &&
        session->pauses_ns[session->worked] > (double)settings->hold_ns / HOLD_LITTLE) {
        return 0;
    }
    double least = (double)settings->hold_ns, most = (double)settings->epoch_ns / HOLD_PART;
    bool is_short = least > 0 && tenant->pause_ns > 0 && tenant->pause_ns < most;
    return is_short ? (uint64_t)fmax(least, fmin(HOLD_PAUSES * tenant->pause_ns, most))
                    : settings->hold_ns;
}

static uint32_t sessions_within(uint32_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : value;
}

void sched_update(struct sched *sched, uint32_t slot, const struct sched_request *request,
                  uint64_t now)
{
    struct sched_session *session = &sched->sessions[slot];
    struct sched_tenant *tenant = &sched->tenants[session->tenant];
    const uint8_t engines = (1u << GPU_ENGINES) - 1;
    uint64_t number = session->request.tenant; /* it stays */
    session->request = *request;
    session->request.tenant = number;
    session->request.weight = sessions_within(request->weight, 1, SCHED_WEIGHT_MAX);
    session->request.wants &= engines;
    session->request.busy &= engines;
    session->request.demand_ppm =
        request->demand_ppm == 0 ? 1000000 : sessions_within(request->demand_ppm, 1, 1000000);
    if (request->phase > GPU_PHASE_D2H) {
        session->request.phase = GPU_PHASE_DFL;
    }
    tenant->weight = session->request.weight;
    sched_bucket_set(&tenant->cap, request->cap_percent, sched->settings.cap_window_ns, now);
    sched_bucket_set(&tenant->throttle, request->throttle_percent, sched->settings.cap_window_ns,
                     now);
    bool has_work = (session->request.wants | session->request.busy) != 0;
    bool had_work = session->idle_since == SCHED_NEVER;
    uint64_t since = request->idle_ns < now ? now - request->idle_ns : 0;
    if (has_work || had_work) {
        session_note_work(session, has_work, has_work ? now : since);
    }
    if (has_work != had_work) {
        tenant_note_work(sched, tenant, has_work, has_work ? now : since);
    }
}

void sched_leave(struct sched *sched, uint32_t slot, uint64_t now)
{
    struct sched_session *session = &sched->sessions[slot];
    struct sched_tenant *tenant = &sched->tenants[session->tenant];
    if (sched->policy->leave != NULL) {
        sched->policy->leave(sched, slot, now);
    }
    if (session->idle_since == SCHED_NEVER) {
        tenant_note_work(sched, tenant, false, now);
    }
    tenant->sessions--;
    *session = (struct sched_session){.joined = false};
    while (sched->session_count > 0 && !sched->sessions[sched->session_count - 1].joined) {
        sched->session_count--;
    }
}

enum ga_status sched_join(struct sched *sched, const struct sched_request *request, uint64_t now,
                          uint32_t *out)
{
    uint32_t slot = 0;
    while (slot < sched->session_count && sched->sessions[slot].joined) {
        slot++;
    }
    GA_TRY(sessions_reserve(sched, slot + 1));
    if (slot == sched->session_count) {
        sched->session_count++;
    }
    uint32_t row = tenant_row(sched, request->tenant, now);
    sched->tenants[row].sessions++;
    sched->sessions[slot] = (struct sched_session){.joined = true,
                                                   .request.tenant = request->tenant,
                                                   .tenant = row,
                                                   .order = ++sched->order,
                                                   .joined_order = sched->order,
                                                   .place = sched->tenants[row].order,
                                                   .idle_since = now,
                                                   .waiting_since = SCHED_NEVER};
    if (sched->policy->join != NULL) {
        sched->policy->join(sched, slot);
    }
    sched_update(sched, slot, request, now);
    *out = slot;
    return GA_OK;
}
