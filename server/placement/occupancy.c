/* SPDX-License-Identifier: Apache-2.0 */
#include "server/placement/occupancy.h"

#include "api/cuda_names.h"
#include "server/processes/processes.h"
#include "server/seats/seat.h"
#include "server/tenants/refusal.h"
#include "server/tenants/tenant.h"

static void seat_view(const struct seat *seat, const struct tenant *tenant, struct node_view *node)
{
    const struct tenant *other = seat->of.tenant;
    if (other == tenant) {
        return;
    }
    for (unsigned i = 0; i < GPU_SET_WORDS; i++) {
        node->others[i] |= seat->gpus[i];
        node->kept[i] |= other->terms.isolation == ISOLATION_EXCLUSIVE ? seat->gpus[i] : 0;
    }
}

struct node_view occupancy_view(const struct processes *processes, const struct tenant *tenant)
{
    struct node_view node = {.gpu_count = processes->devices.visible_count,
                             .isolation = tenant->terms.isolation};
    ga_list_each (at, next, &processes->processes) {
        const struct backend_process *process = ga_container(at, struct backend_process, link);
        for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
            const struct seat *seat = seat_in(process, i);
            if (seat != NULL) {
                seat_view(seat, tenant, &node);
            }
        }
    }
    return node;
}

void occupancy_refusal(const struct tenant *tenant, struct refusal *refusal)
{
    (void)refusal_set(
        refusal, REFUSAL_TAKEN, CUDA_ERROR_DEVICE_UNAVAILABLE, "%s",
        tenant->terms.isolation == ISOLATION_EXCLUSIVE
            ? "its tenant has GPUs for itself (isolation exclusive), and others use this one: "
              "use another GPU, or wait"
            : "another tenant has it for itself (isolation exclusive): use another GPU, or "
              "wait");
}
