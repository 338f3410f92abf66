/* SPDX-License-Identifier: Apache-2.0 */
/* Passing on requests to return cached memory. */
#include "server/control/reclaim.h"

#include "api/cuda_names.h"
#include "base/clock.h"

#define PATIENCE_NS (2 * GA_NS_PER_S) /* who has not answered by then does not count any more */

static void reclaim_ask(struct backend_process *process, uint64_t now)
{
    const struct channel_request packet = {.kind = CHANNEL_REQUEST, .verb = CHANNEL_TRIM};
    if (channel_send(process->fd, &packet, sizeof packet) == GA_OK) {
        process->trim_ns = now;
    }
}

/* How many others have not given theirs back. */
static uint64_t reclaim_others(const struct backend_process *asker, bool start)
{
    uint64_t pending = 0, now = ga_clock_ns();
    ga_list_each (at, next, &asker->table->processes) {
        struct backend_process *process = ga_container(at, struct backend_process, link);
        if (process == asker || backend_process_seats(process) == 0 || process->ending ||
            process->fd < 0) {
            continue;
        }
        bool asked = process->trim_ns != 0 && now - process->trim_ns < PATIENCE_NS;
        if (start && !asked) {
            reclaim_ask(process, now);
            asked = process->trim_ns == now;
        }
        pending += asked;
    }
    return pending;
}

bool reclaim_is(const struct channel_request *packet)
{
    return packet->verb == CHANNEL_TRIM || packet->verb == CHANNEL_TRIMMED;
}

void reclaim_answer(struct backend_process *process, struct channel_request *packet)
{
    if (packet->verb == CHANNEL_TRIM) {
        packet->bytes = reclaim_others(process, packet->bytes != 0);
    } else {
        process->trim_ns = 0;
    }
    packet->result = CUDA_SUCCESS;
}
