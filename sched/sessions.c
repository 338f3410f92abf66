/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions join and change what they ask for, and bring their tenants along.
 *
 * Note: a tenant's row outlives its sessions, so that nobody gets rid of a debt or a cap by a new
 * session; rows are used again, those that owe least first, and what they owe is kept (absent.h).
 */
#include <stdlib.h>
#include <string.h>

#include "sched/absent.h"
#include "sched/policy.h"

#define SCHED_ROOM_MIN 8u

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
    uint64_t *demands = reallocarray(sched->group_demands, room, sizeof(*demands));
    sched->group_demands = demands != NULL ? demands : sched->group_demands;
    if (sessions == NULL || awake == NULL || tenants == NULL || demands == NULL) {
        return GA_NO_MEMORY;
    }
    sched->session_room = room;
    sched->tenant_room = room + 2;
    return GA_OK;
}

/* The row of the tenant of this number; there is always one, for there are more than sessions.
 * Of FS and TFS the tenant of the last turn keeps his, which may have to be accounted for. */
static uint32_t tenant_row(struct sched *sched, uint64_t number, uint64_t now)
{
    uint32_t free_row = SCHED_NONE;
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        struct sched_tenant *tenant = &sched->tenants[row];
        if (tenant->number == number) {
            return row;
        }
        if (tenant->sessions == 0 && row != sched->epoch_tenant &&
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
    return free_row;
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
    const uint8_t engines = (1u << SCHED_ENGINES) - 1;
    uint64_t number = session->request.tenant; /* it stays */
    session->request = *request;
    session->request.tenant = number;
    session->request.weight = sessions_within(request->weight, 1, SCHED_WEIGHT_MAX);
    session->request.wants &= engines;
    session->request.busy &= engines;
    session->request.demand_ppm =
        request->demand_ppm == 0 ? 1000000 : sessions_within(request->demand_ppm, 1, 1000000);
    if (request->phase > SCHED_PHASE_D2H) {
        session->request.phase = SCHED_PHASE_DFL;
    }
    tenant->weight = session->request.weight;
    sched_bucket_set(&tenant->cap, request->cap_percent, sched->settings.cap_window_ns, now);
    sched_bucket_set(&tenant->throttle, request->throttle_percent, sched->settings.cap_window_ns,
                     now);
    bool has_work = (session->request.wants | session->request.busy) != 0;
    if (has_work) {
        session->idle_since = SCHED_NEVER;
    } else if (session->idle_since == SCHED_NEVER) {
        session->idle_since = request->idle_ns < now ? now - request->idle_ns : 0;
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
                                                   .idle_since = now,
                                                   .waiting_since = SCHED_NEVER,
                                                   .phase_since = SCHED_NEVER,
                                                   .group = SCHED_NONE};
    sched_update(sched, slot, request, now);
    *out = slot;
    return GA_OK;
}
