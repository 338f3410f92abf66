/* SPDX-License-Identifier: Apache-2.0 */
/* Passing on requests to return cached memory. */
#include "server/seats/reclaim.h"

#include "api/cuda_names.h"
#include "base/log.h"
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"
#include "server/seats/seat.h"

#define PATIENCE_NS (2 * GA_NS_PER_S) /* who has not answered by then does not count any more */

static void reclaim_ask(struct backend_process *process, uint64_t now)
{
    const struct channel_request packet = {.kind = CHANNEL_REQUEST, .verb = CHANNEL_TRIM};
    if (backend_process_tell(process, &packet, sizeof packet, -1) == GA_OK) {
        process->trim_ns = now;
    }
}

/* Whether it may make others be asked now; that is counted. */
static bool has_a_turn(struct reclaim_asker *asker, uint64_t now)
{
    uint64_t used = asker->used_ns > now ? asker->used_ns : now;
    if (used - now > (RECLAIM_BURST - 1) * RECLAIM_EVERY_NS) {
        return false;
    }
    asker->used_ns = used + RECLAIM_EVERY_NS;
    return true;
}

static bool uses_gpu(const struct backend_process *process, uint32_t gpu)
{
    bool uses = false;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        const struct seat *seat = seat_in(process, i);
        uses = uses || (seat != NULL && gpu_set_has(seat->gpus, gpu));
    }
    return uses;
}

static bool serves_tenant(const struct backend_process *process, const struct tenant *tenant)
{
    bool serves = false;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        const struct seat *seat = seat_in(process, i);
        serves = serves || (seat != NULL && seat->of.tenant == tenant);
    }
    return serves;
}

/* Whether any other one there has not given its own back. */
static bool reclaim_others(const struct seat *seat, uint32_t gpu, bool tenant_alone, bool start,
                           uint64_t now)
{
    const struct backend_process *asker = seat->process;
    bool pending = false;
    ga_list_each (at, next, &asker->room->processes) {
        struct backend_process *process = ga_container(at, struct backend_process, link);
        bool asks = tenant_alone ? serves_tenant(process, seat->of.tenant) : uses_gpu(process, gpu);
        if (process == asker || !asks || process->ending || process->fd < 0) {
            continue;
        }
        bool asked = process->trim_ns != 0 && now - process->trim_ns < PATIENCE_NS;
        if (start && !asked) {
            reclaim_ask(process, now);
            asked = process->trim_ns == now;
        }
        pending = pending || asked;
    }
    return pending;
}

bool reclaim_is(const struct channel_request *packet)
{
    return packet->verb == CHANNEL_TRIM || packet->verb == CHANNEL_TRIMMED;
}

void reclaim_answer(struct seat *seat, struct channel_request *packet)
{
    struct reclaim_asker *asker = &seat->reclaim;
    uint64_t now = seat_awake(seat);
    bool start = packet->bytes != 0;
    packet->result = CUDA_SUCCESS;
    if (packet->verb == CHANNEL_TRIMMED) {
        seat->process->trim_ns = 0;
        return;
    }
    packet->bytes = 0;
    if (packet->address >= CONF_GPUS_MAX || !uses_gpu(seat->process, (uint32_t)packet->address)) {
        return;
    }
    if (start && !has_a_turn(asker, now)) {
        ga_warn_of(seat->of.address,
                   "%s lacks memory of a GPU more often than %u times in %u s: others are asked to "
                   "give memory back no more often",
                   seat->of.label, RECLAIM_BURST,
                   (unsigned)(RECLAIM_BURST * RECLAIM_EVERY_NS / GA_NS_PER_S));
        return;
    }
    asker->asked_ns = start ? now : asker->asked_ns;
    if (asker->asked_ns != 0 && now - asker->asked_ns < PATIENCE_NS) {
        packet->bytes = reclaim_others(seat, (uint32_t)packet->address,
                                       packet->what == CHANNEL_TRIM_TENANT, start, now);
    }
}
