/* SPDX-License-Identifier: Apache-2.0 */
#include "server/seats/seat_usage.h"

#include "base/clock.h"
#include "base/list.h"
#include "server/seats/seat.h"
#include "server/seats/seat_turns.h"
#include "server/tenants/tenant.h"
#include "server/turns/scheduler.h"

static const struct seat *seat_using(const struct usage_seat *usage)
{
    return ga_container(usage, const struct seat, usage);
}

static uint64_t usage_began_ns(const struct usage_seat *usage, uint64_t now)
{
    return seat_began_ns(seat_using(usage), now);
}

static const struct figures_memory *usage_taken(const struct usage_seat *usage, uint32_t gpu)
{
    return lender_taken(&seat_using(usage)->lender, gpu);
}

static uint64_t usage_waited_ns(const struct usage_seat *usage, uint32_t gpu)
{
    struct scheduler_session turns;
    return seat_turns_look(seat_using(usage), gpu, &turns) ? turns.account.waited_ns : 0;
}

static void usage_shared(const struct usage_seat *usage, uint32_t gpu,
                         const struct time_share *share)
{
    const struct seat *seat = seat_using(usage);
    if (seat->process->turns != NULL) {
        scheduler_session_share(seat->process->turns, seat->number, gpu, share);
    }
}

static const struct usage_seat_ops usage_ops = {.began_ns = usage_began_ns,
                                                .taken = usage_taken,
                                                .waited_ns = usage_waited_ns,
                                                .shared = usage_shared};

void seat_usage_begin(struct seat *seat)
{
    const struct seat_application *of = &seat->of;
    const struct figures_page *figures = seat->process->figures;
    seat->usage = (struct usage_seat){.room = seat->room->usage,
                                      .ops = &usage_ops,
                                      .tenant_number = of->tenant->terms.number,
                                      .tenant = of->tenant->terms.name,
                                      .user = of->user,
                                      .program = of->program,
                                      .id = of->id,
                                      .isolation = of->tenant->terms.isolation,
                                      .counted = of->counted,
                                      .driver = seat->process->driver,
                                      .taken_ns = seat_now(seat),
                                      .ready = &seat->ready,
                                      .gpus = seat->gpus,
                                      .figures = &figures->seats[seat->number],
                                      .memory = figures->memory[seat->number],
                                      .times = &figures->times[seat->number]};
}
