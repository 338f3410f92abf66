/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about backend processes. */
#include "server/monitoring/process_status.h"

#include "server/applications/application.h"
#include "server/seats/seat.h"

static void one_status(const struct backend_process *process, const struct seat *seat,
                       const struct status_sink *sink)
{
    const struct status_process status = {
        .pid = process->child.pid,
        .client = seat != NULL ? seat->application->address : NULL,
        .label = seat != NULL ? seat->application->label : "gpuaasd",
        .state = process->ending ? "ending"
                 : seat != NULL  ? (seat->left    ? "ending"
                                    : seat->ready ? "ready"
                                                  : "starting")
                 : process->warm ? "spare"
                                 : "spare, starting",
        .tickets = seat != NULL ? seat->tickets_sent : 0};
    sink->process(sink->user, &status);
}

void process_status(const struct processes *processes, const struct status_sink *sink)
{
    ga_list_each (at, next, &processes->processes) {
        const struct backend_process *process = ga_container(at, struct backend_process, link);
        if (backend_process_seats(process) == 0) {
            one_status(process, NULL, sink);
        }
        for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
            const struct seat *seat = seat_in(process, i);
            if (seat != NULL) {
                one_status(process, seat, sink);
            }
        }
    }
}
