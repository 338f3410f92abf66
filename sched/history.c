/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/history.h"

#include <math.h>

#define SCHED_FADES_QUANTA  10.0
#define SCHED_LAS_K         0.8
#define SCHED_LAS_FORGOTTEN 32u /* quanta, after which an hour of service is less than nothing */

static void history_roll_one(double *gs, double *cgs, double fades)
{
    *cgs = (SCHED_LAS_K * *gs + (1 - SCHED_LAS_K) * *cgs) * fades;
    *gs = 0;
}

void sched_history_fade(const struct sched *sched, double *gs, double *cgs, uint64_t passed_ns)
{
    uint64_t quanta = passed_ns / sched->settings.quantum_ns;
    if (quanta > SCHED_LAS_FORGOTTEN) {
        *gs = *cgs = 0;
    } else if (quanta != 0) {
        history_roll_one(gs, cgs, pow(1 - SCHED_LAS_K, (double)(quanta - 1)));
    }
}

double sched_history_faded(const struct sched *sched, double recent_ns, uint64_t passed_ns)
{
    double quantum_ns = fmax((double)sched->settings.quantum_ns, sched->recent_longest_ns);
    return recent_ns * exp(-(double)passed_ns / (SCHED_FADES_QUANTA * quantum_ns));
}

void sched_history_note(struct sched *sched, struct sched_tenant *tenant, double used_ns)
{
    tenant->recent_ns += used_ns;
    sched->recent_longest_ns =
        fmax(used_ns, sched_history_faded(sched, sched->recent_longest_ns, (uint64_t)used_ns));
}

int sched_history_compare(const struct sched_tenant *a, const struct sched_tenant *b)
{
    double a_had = a->recent_ns / a->weight, b_had = b->recent_ns / b->weight;
    return (a_had > b_had) - (a_had < b_had);
}

static void history_fade_tenants(struct sched *sched, uint64_t now)
{
    if (now > sched->faded_at) {
        const double part = sched_history_faded(sched, 1, now - sched->faded_at);
        for (uint32_t row = 0; row < sched->tenant_count; row++) {
            sched->tenants[row].recent_ns *= part;
        }
        sched->faded_at = now;
    }
}

/* A quantum of tenants is at least as long as the longest operation of this one and the last:
 * their service would else be forgotten before others have had as much. */
static void history_roll_tenants(struct sched *sched, uint64_t ended)
{
    uint64_t longest =
        sched->longest_ns > sched->longest_before_ns ? sched->longest_ns : sched->longest_before_ns;
    uint64_t quantum_ns =
        longest > sched->settings.quantum_ns ? longest : sched->settings.quantum_ns;
    uint64_t quanta = (ended - sched->tenants_since) / quantum_ns;
    if (quanta == 0) {
        return;
    }
    double fades = pow(1 - SCHED_LAS_K, (double)(quanta - 1));
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        struct sched_tenant *tenant = &sched->tenants[row];
        history_roll_one(&tenant->gs, &tenant->cgs, fades);
    }
    sched->tenants_since = ended;
    sched->longest_before_ns = sched->longest_ns;
    sched->longest_ns = 0;
}

void sched_history_roll(struct sched *sched, uint64_t now)
{
    history_fade_tenants(sched, now);
    if (now < sched->quantum_end) {
        return;
    }
    uint64_t quanta = (now - sched->quantum_end) / sched->settings.quantum_ns + 1;
    /* Those behind the first one are without service. */
    double fades = pow(1 - SCHED_LAS_K, (double)(quanta - 1));
    sched_each (sched, slot) {
        struct sched_session *session = &sched->sessions[slot];
        history_roll_one(&session->gs, &session->cgs, fades);
    }
    sched->quantum_end += quanta * sched->settings.quantum_ns;
    history_roll_tenants(sched, sched->quantum_end - sched->settings.quantum_ns);
}
