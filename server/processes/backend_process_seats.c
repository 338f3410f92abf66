/* SPDX-License-Identifier: Apache-2.0 */
/* Which seats of backend processes are free. */
#include "server/processes/backend_process.h"
#include "server/processes/processes.h"

unsigned backend_process_seats(const struct backend_process *process)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CHANNEL_SEATS; i++) {
        count += process->seats[i] != NULL;
    }
    return count;
}

uint32_t backend_process_seat_free(const struct backend_process *process)
{
    uint32_t seat = 0;
    while (seat < process->seat_limit && process->seats[seat] != NULL) {
        seat++;
    }
    return seat < process->seat_limit ? seat : CHANNEL_SEATS;
}

struct backend_process *backend_process_with_room(const struct processes *room,
                                                  enum conf_driver driver)
{
    ga_list_each (at, next, &room->processes) {
        struct backend_process *process = ga_container(at, struct backend_process, link);
        bool lives = !process->ending && uv_is_active((const uv_handle_t *)&process->poll);
        if (process->driver == driver && process->outlives && process->owner == NULL && lives &&
            backend_process_seat_free(process) != CHANNEL_SEATS) {
            return process;
        }
    }
    return NULL;
}
