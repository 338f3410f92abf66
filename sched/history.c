/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/history.h"

#include <math.h>

#define SCHED_LAS_K 0.8

static void history_roll_one(double *gs, double *cgs, double fades)
{
    *cgs = (SCHED_LAS_K * *gs + (1 - SCHED_LAS_K) * *cgs) * fades;
    *gs = 0;
}

void sched_history_roll(struct sched *sched, uint64_t now)
{
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
    for (uint32_t row = 0; row < sched->tenant_count; row++) {
        struct sched_tenant *tenant = &sched->tenants[row];
        history_roll_one(&tenant->gs, &tenant->cgs, fades);
    }
    sched->quantum_end += quanta * sched->settings.quantum_ns;
}
