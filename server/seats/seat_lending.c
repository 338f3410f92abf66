/* SPDX-License-Identifier: Apache-2.0 */
#include "server/seats/seat_lending.h"

#include "base/list.h"
#include "server/processes/processes.h"
#include "server/seats/seat.h"

static bool lending_send(struct lender_seat *lender, const void *packet, size_t size)
{
    struct seat *seat = ga_container(lender, struct seat, lender);
    struct backend_process *process = seat->process;
    return !seat->untold && !seat->left && process->fd >= 0 &&
           backend_process_send(process, packet, size) == GA_OK;
}

static bool lending_tell(struct lender_seat *lender, const struct channel_request *answer, int fd)
{
    struct seat *seat = ga_container(lender, struct seat, lender);
    return backend_process_tell(seat->process, answer, sizeof *answer, fd) == GA_OK;
}

static const struct lender_seat_ops lending_ops = {.send = lending_send, .tell = lending_tell};

void seat_lending_init(struct seat *seat)
{
    const struct seat_application *of = &seat->of;
    const struct figures_page *figures = seat->process->figures;
    seat->lender = (struct lender_seat){.ops = &lending_ops,
                                        .tenant = of->tenant,
                                        .member = of->member,
                                        .number = seat->number,
                                        .figures = &figures->seats[seat->number],
                                        .memory = figures->memory[seat->number],
                                        .client = of->address,
                                        .label = of->label};
}

/* A context, and with what is lent beyond that the first block of memory. */
void seat_offer(struct seat *seat, uint32_t gpu)
{
    const struct devices *devices = &seat->process->room->devices;
    lender_offer(&seat->lender, gpu, devices_visible(devices, gpu)->facts.context_bytes + 1);
}
