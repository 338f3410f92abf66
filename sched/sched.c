/* SPDX-License-Identifier: Apache-2.0 */
/* The part that all policies have in common: sessions and tenants, and a decision around that of
 * the policy. Note: only sched_join allocates. */
#include "sched/sched.h"

#include <stdlib.h>
#include <string.h>

#include "sched/history.h"
#include "sched/own.h"
#include "sched/policy.h"

enum ga_status sched_create(struct sched **out, const struct sched_policy *policy,
                            const struct sched_settings *settings, const struct sched_gpu *gpu,
                            uint64_t now)
{
    struct sched *sched = calloc(1, sizeof(*sched));
    if (sched == NULL) {
        return GA_NO_MEMORY;
    }
    if (sched_own_init(sched) != GA_OK) {
        free(sched);
        return GA_NO_MEMORY;
    }
    sched->gpu = *gpu;
    sched->kept_tenant = SCHED_NONE;
    sched->quantum_end = now + settings->quantum_ns;
    sched->faded_at = now;
    sched_change(sched, policy, settings, now);
    *out = sched;
    return GA_OK;
}

void sched_destroy(struct sched *sched)
{
    if (sched != NULL) {
        free(sched->sessions);
        free(sched->tenants);
        free(sched->absent);
        free(sched->awake);
        sched_own_fini(sched);
        free(sched);
    }
}

/* For the sessions it is as if they left and joined anew. */
static void policy_change(struct sched *sched, const struct sched_policy *policy, uint64_t now)
{
    sched_each (sched, slot) {
        if (sched->policy->leave != NULL) {
            sched->policy->leave(sched, slot, now);
        }
    }
    sched->policy = sched->acting = policy;
    sched->kept_tenant = SCHED_NONE;
    sched_own_clear(sched);
    sched_each (sched, slot) {
        if (policy->join != NULL) {
            policy->join(sched, slot);
        }
    }
}

void sched_change(struct sched *sched, const struct sched_policy *policy,
                  const struct sched_settings *settings, uint64_t now)
{
    if (policy != sched->policy) {
        policy_change(sched, policy, now);
    }
    sched->acting = policy;
    sched->settings = *settings;
    sched->quantum_end = sched->quantum_end > now + settings->quantum_ns
                             ? now + settings->quantum_ns
                             : sched->quantum_end;
    sched->tenants_since = sched->quantum_end - settings->quantum_ns;
    if (policy->begin != NULL) {
        policy->begin(sched, now);
    }
}

/* Charges any engine, but not the cap. */
static void charge_any(struct sched *sched, uint32_t slot, enum gpu_engine engine, uint64_t used_ns,
                       uint64_t now)
{
    struct sched_session *session = &sched->sessions[slot];
    struct sched_tenant *tenant = &sched->tenants[session->tenant];
    session->attained_ns[engine] += used_ns;
    sched_history_roll(sched, now == 0 ? 0 : now - 1); /* what ends with a quantum is of it */
    session->gs += (double)used_ns;
    tenant->gs += (double)used_ns;
    sched_history_note(sched, tenant, (double)used_ns);
    tenant->used_ns += (double)used_ns;
    sched->longest_ns = used_ns > sched->longest_ns ? used_ns : sched->longest_ns;
    sched_bucket_take(&tenant->throttle, (double)used_ns, sched->settings.cap_window_ns, now);
    if (sched->policy->charge != NULL) {
        sched->policy->charge(sched, slot, engine, used_ns, now);
    }
}

void sched_charge(struct sched *sched, uint32_t slot, enum gpu_engine engine, uint64_t used_ns,
                  uint64_t now)
{
    if (engine == GPU_COMPUTE) {
        double places = sched->sessions[slot].request.demand_ppm / 1e6;
        sched_charge_kernels(sched, slot, used_ns, (double)used_ns * places, now);
    } else {
        charge_any(sched, slot, engine, used_ns, now);
    }
}

void sched_charge_kernels(struct sched *sched, uint32_t slot, uint64_t used_ns, double filled_ns,
                          uint64_t now)
{
    struct sched_tenant *tenant = &sched->tenants[sched->sessions[slot].tenant];
    sched_bucket_take(&tenant->cap, filled_ns, sched->settings.cap_window_ns, now);
    if (used_ns != 0) {
        charge_any(sched, slot, GPU_COMPUTE, used_ns, now);
    }
}

void sched_wake(struct sched *sched, uint32_t slot, uint64_t until, uint32_t rank)
{
    sched->sessions[slot].woken = true;
    sched->awake[sched->awake_count++] =
        (struct sched_awake){.slot = slot, .rank = rank, .until = until};
}

void sched_turn_begins(struct sched *sched, uint32_t slot, uint64_t now)
{
    struct sched_session *session = &sched->sessions[slot];
    session->passed = session->passed_before = 0;
    session->turns++;
    session->turn_began = now;
    session->order = session->place = ++sched->order;
    sched->tenants[session->tenant].order = session->order;
    sched_each (sched, other) {
        struct sched_session *waiting = &sched->sessions[other];
        if (waiting->ready && !waiting->woken) {
            waiting->passed_before =
                waiting->passed_at == now ? waiting->passed_before : waiting->passed;
            waiting->passed_at = now;
            waiting->passed++;
        }
    }
}

/* Until when the session's tenant may work; now: not now, and the decision is made again in time.
 */
static uint64_t allowed_until(struct sched *sched, const struct sched_session *session,
                              uint64_t now)
{
    struct sched_tenant *tenant = &sched->tenants[session->tenant];
    uint64_t window_ns = sched->settings.cap_window_ns;
    uint64_t again = SCHED_NEVER;
    uint64_t cap = sched_bucket_open_until(&tenant->cap, window_ns, now, &again);
    uint64_t throttle = sched_bucket_open_until(&tenant->throttle, window_ns, now, &again);
    sched_again(sched, again);
    return cap < throttle ? cap : throttle;
}

/* Finds the sessions that may be woken at all. */
static void find_ready(struct sched *sched, uint64_t now)
{
    sched_each (sched, slot) {
        struct sched_session *session = &sched->sessions[slot];
        bool has_work = session->idle_since == SCHED_NEVER;
        session->capped = allowed_until(sched, session, now) <= now;
        session->ready = has_work && !session->capped;
        session->woken = false;
        if (has_work && !session->awake && session->waiting_since == SCHED_NEVER) {
            session->waiting_since = now;
        }
    }
}

/* Keeps the account of waiting, and shortens what has been granted to what caps allow. */
static void note_decision(struct sched *sched, uint64_t now)
{
    for (uint32_t i = 0; i < sched->awake_count; i++) {
        struct sched_awake *awake = &sched->awake[i];
        uint64_t allowed = allowed_until(sched, &sched->sessions[awake->slot], now);
        awake->until = awake->until < allowed ? awake->until : allowed;
        sched_again(sched, allowed);
    }
    sched_each (sched, slot) {
        struct sched_session *session = &sched->sessions[slot];
        bool waits = session->idle_since == SCHED_NEVER && !session->woken;
        session->awake = session->woken;
        if (waits && session->waiting_since == SCHED_NEVER) {
            session->waiting_since = now;
        } else if (!waits && session->waiting_since != SCHED_NEVER) {
            session->waited_ns += now - session->waiting_since;
            session->waiting_since = SCHED_NEVER;
        }
    }
}

struct sched_decision sched_decide(struct sched *sched, uint64_t now)
{
    sched_history_roll(sched, now);
    sched->awake_count = 0;
    sched->again = SCHED_NEVER;
    find_ready(sched, now);
    sched->policy->decide(sched, now);
    note_decision(sched, now);
    return (struct sched_decision){
        .awake = sched->awake, .count = sched->awake_count, .again = sched->again};
}

struct sched_account sched_account(const struct sched *sched, uint32_t slot, uint64_t now)
{
    const struct sched_session *session = &sched->sessions[slot];
    struct sched_account account = {.waited_ns = session->waited_ns,
                                    .turns = session->turns,
                                    .cgs_ns = session->cgs,
                                    .debt_ns = sched->tenants[session->tenant].debt,
                                    .awake = session->awake,
                                    .capped = session->capped};
    memcpy(account.attained_ns, session->attained_ns, sizeof(account.attained_ns));
    account.waited_ns += session->waiting_since == SCHED_NEVER ? 0 : now - session->waiting_since;
    return account;
}
