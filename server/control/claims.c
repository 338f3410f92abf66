/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/claims.h"

#include "base/failpoint.h"
#include "server/control/application.h"
#include "server/control/control.h"
#include "server/control/refusal.h"
#include "server/control/seat.h"
#include "server/control/tenant.h"
#include "server/processes/backend_process.h"

void claims_made(struct seat *seat, uint32_t gpu)
{
    if (!gpu_set_has(seat->gpus, gpu)) {
        gpu_set_add(seat->claimed, gpu);
    }
}

void claims_bound(struct seat *seat, uint32_t gpu)
{
    gpu_set_add(seat->gpus, gpu);
    gpu_set_remove(seat->claimed, gpu);
}

void claims_believed_bound(struct seat *seat)
{
    for (unsigned i = 0; i < GPU_SET_WORDS; i++) {
        seat->gpus[i] |= seat->claimed[i];
        seat->claimed[i] = 0;
    }
}

/* One question for each GPU at a time. */
static void claim_void(struct seat *seat, uint32_t gpu)
{
    const struct channel_claim packet = {
        .kind = CHANNEL_VOID, .seat = seat->number, .gpu = gpu, .tickets = seat->tickets_sent};
    (void)GA_FAILPOINT("gpuaasd: before a claim is taken back");
    if (!gpu_set_has(seat->voided, gpu) && seat_tell(seat, &packet, sizeof packet) == GA_OK) {
        gpu_set_add(seat->voided, gpu);
    }
}

/* What one has that was given up by its application goes with it, soon. */
static bool claims_void(struct seat *seat, uint32_t only)
{
    bool any = false;
    for (uint32_t gpu = 0; gpu < CONF_GPUS_MAX; gpu++) {
        if (gpu_set_has(seat->claimed, gpu) && (only == UINT32_MAX || only == gpu)) {
            claim_void(seat, gpu);
            any = true;
        }
    }
    return any;
}

static bool keeps_away(const struct tenant *tenant, const struct tenant *other)
{
    return tenant->terms.isolation == ISOLATION_EXCLUSIVE ||
           other->terms.isolation == ISOLATION_EXCLUSIVE;
}

bool claims_in_the_way(const struct control_application *application, uint32_t gpu)
{
    const struct tenant *tenant = application->tenant;
    struct refusal unused;
    bool limited = !tenant_may_open(application, gpu, true, &unused), any = false;
    ga_list_each (at, next, &application->control->processes.processes) {
        struct backend_process *process = ga_container(at, struct backend_process, link);
        for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
            struct seat *seat = seat_in(process, i);
            const struct control_application *other = seat != NULL ? seat->application : NULL;
            if (other == NULL || other == application || !gpu_set_any(seat->claimed)) {
                continue;
            }
            if (other->tenant == tenant && limited) {
                any = claims_void(seat, UINT32_MAX) || any;
            } else if (other->tenant != tenant && keeps_away(tenant, other->tenant)) {
                any = claims_void(seat, gpu) || any;
            }
        }
    }
    return any;
}

/* A ticket that was given since is a claim of its own. */
void claims_answered(struct seat *seat, const struct channel_claim *packet)
{
    if (packet->gpu >= CONF_GPUS_MAX || !gpu_set_has(seat->voided, packet->gpu)) {
        return;
    }
    (void)GA_FAILPOINT("gpuaasd: claim taken back");
    gpu_set_remove(seat->voided, packet->gpu);
    if (packet->used != 0) {
        claims_bound(seat, packet->gpu);
    } else if (packet->tickets == seat->tickets_sent) {
        gpu_set_remove(seat->claimed, packet->gpu);
    }
}
