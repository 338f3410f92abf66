/* SPDX-License-Identifier: Apache-2.0 */
#include "server/seats/claims.h"

#include <stdlib.h>

#include "base/failpoint.h"
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"
#include "server/seats/seat.h"

#define ANSWER_NS (2 * GA_NS_PER_S) /* a process answers at once, or is in trouble */

enum ga_status claims_room(struct seat *seat)
{
    if (seat->claims == NULL) {
        seat->claims = calloc(seat->process->room->devices.visible_count, sizeof *seat->claims);
    }
    return seat->claims != NULL ? GA_OK : GA_NO_MEMORY;
}

void claims_made(struct seat *seat, uint32_t gpu)
{
    if (!gpu_set_has(seat->gpus, gpu)) {
        gpu_set_add(seat->claimed, gpu);
        seat->claims[gpu] =
            (struct claim){.made_ns = seat_awake(seat), .ticket = seat->tickets_sent};
    }
}

void claims_bound(struct seat *seat, uint32_t gpu)
{
    gpu_set_add(seat->gpus, gpu);
    gpu_set_remove(seat->claimed, gpu);
}

/* ---- taking back */

/* One question for each GPU at a time. */
static void claim_void(struct seat *seat, uint32_t gpu, uint64_t now)
{
    const struct channel_claim packet = {
        .kind = CHANNEL_VOID, .seat = seat->number, .gpu = gpu, .tickets = seat->tickets_sent};
    (void)GA_FAILPOINT("gpuaasd: before a claim is taken back");
    struct claim *claim = &seat->claims[gpu];
    claim->asked_ns = claim->asked_ns != 0 ? claim->asked_ns : now;
    if (!gpu_set_has(seat->voided, gpu) && seat_tell(seat, &packet, sizeof packet) == GA_OK) {
        gpu_set_add(seat->voided, gpu);
    }
}

void claims_void(struct seat *seat, uint64_t now)
{
    for (uint32_t gpu = 0; gpu < seat->process->room->devices.visible_count; gpu++) {
        if (gpu_set_has(seat->claimed, gpu)) {
            claim_void(seat, gpu, now);
        }
    }
}

/* Claims of a seat that its application has given up go with it, soon. */
void claims_clear(struct seat *seat, uint32_t only, uint64_t now, struct claims_in_way *found)
{
    for (uint32_t gpu = 0; gpu < seat->process->room->devices.visible_count; gpu++) {
        if (!gpu_set_has(seat->claimed, gpu) || (only != UINT32_MAX && only != gpu)) {
            continue;
        }
        const struct claim *claim = &seat->claims[gpu];
        found->any = true;
        if (seat->left || now - claim->made_ns >= CLAIMS_SAFE_NS) {
            claim_void(seat, gpu, now);
            found->silent = found->silent || now - claim->asked_ns > ANSWER_NS;
        }
    }
}

bool claims_doubted(const struct seat *seat)
{
    uint64_t ticket_ns = seat->process->room->conf->server.backend.ticket_s * GA_NS_PER_S;
    return seat->bound_ns == 0 && seat_now(seat) - seat->usage.taken_ns > ticket_ns;
}

/* A ticket that was given since is a claim of its own. */
void claims_answered(struct seat *seat, const struct channel_claim *packet)
{
    if (packet->gpu >= CONF_GPUS_MAX || !gpu_set_has(seat->voided, packet->gpu)) {
        return;
    }
    (void)GA_FAILPOINT("gpuaasd: claim taken back");
    struct claim *claim = &seat->claims[packet->gpu];
    gpu_set_remove(seat->voided, packet->gpu);
    claim->asked_ns = 0;
    if (packet->used != 0) {
        claims_bound(seat, packet->gpu);
    } else if ((int32_t)(packet->tickets - claim->ticket) >= 0 && !claims_doubted(seat)) {
        gpu_set_remove(seat->claimed, packet->gpu);
    }
}
