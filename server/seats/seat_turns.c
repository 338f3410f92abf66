/* SPDX-License-Identifier: Apache-2.0 */
#include "server/seats/seat_turns.h"

#include "server/processes/backend_process.h"
#include "server/processes/processes.h"
#include "server/seats/seat.h"
#include "server/turns/scheduler.h"

enum ga_status seat_session_begin(struct seat *seat, uint32_t gpu)
{
    struct scheduler_terms terms;
    if (seat->process->turns == NULL) {
        return GA_OK;
    }
    uint64_t tenant = seat->events->terms(seat, &terms);
    const struct device *device = devices_visible(&seat->process->room->devices, gpu);
    return scheduler_session_begin(seat->process->turns, seat->number, gpu, device->ordinal,
                                   seat->usage.figures, tenant, &terms);
}

bool seat_turns_look(const struct seat *seat, uint32_t gpu, struct scheduler_session *session)
{
    return seat->process->turns != NULL &&
           scheduler_session_look(seat->process->turns, seat->number, gpu, session);
}
